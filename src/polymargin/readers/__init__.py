"""Data files into rows and labels.

svmlight, texts, CSV, TSV, Parquet, Arrow, JSON lines, NPZ, idx images, folders of texts.

`read` takes a whole file, `read_batches` one that need not fit into memory, `scan` finds out what
a file holds. All of them read packed files and tell the place of what is wrong in a file.
"""

from polymargin.readers._batches import read_batches
from polymargin.readers._first_lines import TableStart as TableStart
from polymargin.readers._first_lines import start_of_table as start_of_table
from polymargin.readers._formats import find_format as find_format
from polymargin.readers._formats import format_by_name as format_by_name
from polymargin.readers._formats import is_header_of_texts as is_header_of_texts
from polymargin.readers._formats import is_json_array as is_json_array
from polymargin.readers._kinds import KINDS as KINDS
from polymargin.readers._labels import label_kind_of as label_kind_of
from polymargin.readers._labels import parse_labels
from polymargin.readers._lines import open_lines, read_lines
from polymargin.readers._options import FORMATS
from polymargin.readers._part import read_part as read_part
from polymargin.readers._read import read
from polymargin.readers._scan import scan
from polymargin.readers._source import Source as Source
from polymargin.readers._tab_rows import tab_records as tab_records
from polymargin.readers._table import Columns, MissingCell, Scan, Table

__all__ = [
    "FORMATS",
    "Columns",
    "MissingCell",
    "Scan",
    "Table",
    "open_lines",
    "parse_labels",
    "read",
    "read_batches",
    "read_lines",
    "scan",
]
