"""Words of messages: options in place of parameters, one of a thing and several."""

import pytest

from polymargin._wording import counted
from polymargin.cli._option_names import in_options


@pytest.mark.parametrize(
    ("message", "in_words_of_options"),
    [
        ("above tol=0.001. Raise max_iter, lower C or loosen tol.",
         "above --tol 0.001. Raise --max-iter, lower C or loosen --tol."),
        ("Widen log2_C, or pass extend=True.",
         "Widen --log2-C, or pass --extend."),
        ("delimiter='ab': use one character", "--delimiter 'ab': use one character"),
        ("name it with format=: one of csv, tsv", "name it with --format: one of csv, tsv"),
        ("give another with delimiter=", "give another with --delimiter"),
        ("the label is missing; remove the row; others are read with has_labels=False",
         "the label is missing; remove the row"),
        ("this is a model; polymargin predict reads it; in Python load does",
         "this is a model; polymargin predict reads it"),
        ("unknown block_solver 'x'", "unknown --block-solver 'x'"),
        ("loosen tol or pass float64.", "loosen --tol or use --precision float64."),
        ("/data/tol/max_iter.csv:3: a format that is none", None),
        ("max_iter.csv: the file is empty", None),
        ("my_max_iter by label", None),
    ],
)  # fmt: skip
def test_parameters_become_options(message: str, in_words_of_options: str | None) -> None:
    assert in_options(message) == (in_words_of_options or message)


@pytest.mark.parametrize(
    ("n", "said"), [(0, "0 passes"), (1, "1 pass"), (2, "2 passes"), (1234, "1,234 passes")]
)
def test_one_is_not_several(n: int, said: str) -> None:
    assert counted(n, "pass", "passes") == said
    assert counted(n, "row") == said.replace("passes", "rows").replace("pass", "row")
