"""What a trained machine says about its data: tables, figures, one HTML report."""

from polymargin.inspect._bound import Bound, bound
from polymargin.inspect._confusion import confusable_pairs, confusion, margins
from polymargin.inspect._confusion import pair_table as pair_table
from polymargin.inspect._density import Density, density
from polymargin.inspect._drawing import ACCENT as ACCENT
from polymargin.inspect._drawing import INK as INK
from polymargin.inspect._drawing import MUTED as MUTED
from polymargin.inspect._drawing import empty_figure as empty_figure
from polymargin.inspect._drawing import new_figure as new_figure
from polymargin.inspect._drawing import quiet as quiet
from polymargin.inspect._examined import Examined as Examined
from polymargin.inspect._features import top_features
from polymargin.inspect._figures import (
    plot_confusion,
    plot_convergence,
    plot_margins,
    plot_pairs,
)
from polymargin.inspect._patterns import support_patterns, suspicious_labels
from polymargin.inspect._patterns import suspect_table as suspect_table
from polymargin.inspect._pictures import plot_patterns, plot_weights
from polymargin.inspect._reliability import plot_reliability
from polymargin.inspect._report import report
from polymargin.inspect._report import write_report as write_report

__all__ = [
    "Bound",
    "Density",
    "bound",
    "confusable_pairs",
    "confusion",
    "density",
    "margins",
    "plot_confusion",
    "plot_convergence",
    "plot_margins",
    "plot_pairs",
    "plot_patterns",
    "plot_reliability",
    "plot_weights",
    "report",
    "support_patterns",
    "suspicious_labels",
    "top_features",
]
