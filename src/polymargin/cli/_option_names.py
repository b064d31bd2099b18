"""Messages of the library, which speak of parameters, in the words of the command line."""

import re

_OPTIONS = {
    "block_solver": "--block-solver",
    "by": "--by",
    "cache_size": "--cache-size",
    "class_weight": "--balanced",
    "cv": "--folds",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "fit_intercept": "--intercept",
    "format": "--format",
    "groups": "--groups",
    "header": "--header",
    "image_shape": "--image-shape",
    "label": "--label",
    "label_kind": "--label-kind",
    "log2_C": "--log2-C",
    "log2_gamma": "--log2-gamma",
    "max_iter": "--max-iter",
    "n_features": "--n-features",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "refinements": "--refinements",
    "solver": "--solver",
    "stopping": "--stopping",
    "tol": "--tol",
    "zero_based": "--zero-based",
}
_NO_WORDS = [name for name in _OPTIONS if "_" in name or name in ("cv", "tol")]
_PHRASES = {
    "header=True or False, ": "",
    "header=True, ": "",
    "header=False, ": "",
    "kinds=, ": "",
    "extend=True": "--extend",
    "pass float64": "use --precision float64",
    "Pass float64": "Use --precision float64",
}
# What only Python can do is said in a last clause of its own.
_PYTHON_ALONE = re.compile(r"; (in Python [^;]*|[^;]*\bhas_labels=False[^;]*)$")
# Neither part of a path nor of a longer name.
_ASSIGNED = re.compile(rf"(?<![\w/.\\-])({'|'.join(_OPTIONS)})=(?=(\S?))")
_NAMED = re.compile(rf"(?<![\w/.\\-])({'|'.join(_NO_WORDS)})(?![\w/\\=-]|\.\w)")


def in_options(message: str) -> str:
    """The message with ``--max-iter`` for ``max_iter`` and ``--tol 0.1`` for ``tol=0.1``."""
    message = _PYTHON_ALONE.sub("", message)
    for phrase, words in _PHRASES.items():
        message = message.replace(phrase, words)
    message = _ASSIGNED.sub(_assigned, message)
    return _NAMED.sub(lambda found: _OPTIONS[found[1]], message)


def _assigned(found: re.Match[str]) -> str:
    """The option, and a blank before its value if there is one."""
    has_value = found[2].isalnum() or found[2] in ("'", "(", "-")
    return _OPTIONS[found[1]] + (" " if has_value else "")
