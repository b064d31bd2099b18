"""Which options the user gave, and which of them do not go together."""

import typer

_OF_KERNELS = ("gamma", "degree", "coef0", "cache_size", "log2_gamma")


def is_given(context: typer.Context, option: str) -> bool:
    """Whether an option was given, not left to its default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def option_name(option: str) -> str:
    """As the user writes it."""
    return "--resume" if option == "resume_from" else f"--{option.replace('_', '-')}"


def refuse(context: typer.Context, option: str, reason: str) -> None:
    """No for an option that would be ignored."""
    if is_given(context, option):
        raise typer.BadParameter(reason, param_hint=option_name(option))


def refuse_without_kernel(context: typer.Context, kernel: str | None) -> None:
    """A linear machine has no use for what describes a kernel."""
    if kernel is None:
        for option in _OF_KERNELS:
            refuse(context, option, "goes with --kernel only")


def refuse_with_stream(context: typer.Context) -> None:
    """What needs all rows, or would be ignored."""
    reasons = {
        "kernel": "a kernel machine needs all rows",
        "missing": "the mean of all rows is not known",
        "balanced": "weights of classes need all rows",
        "precision": "a stream computes in float64",
        "text_features": "the words of all rows are not known, so that they are hashed",
        "tol": "a stream ends after --passes",
        "max_iter": "a stream ends after --passes",
        "stopping": "a stream ends after --passes",
        "solver": "there is but one way through a stream",
        "calibration": "it holds rows out, and a stream forgets its rows",
        "checkpoint": "a stream has no checkpoints",
        "resume_from": "a stream has no checkpoints",
        "duals": "a stream does not store dual variables",
        "distributed": "a stream is read by one process",
    }
    if context.params["scale"] == "tfidf":
        refuse(context, "scale", "tfidf does not go with --stream: it counts words in all rows")
    meant = {"hashing", "float64"}
    for option, reason in reasons.items():
        if str(context.params[option]) not in meant:
            refuse(context, option, f"does not go with --stream: {reason}")


def refuse_without_distributed(context: typer.Context) -> None:
    """What only several processes have."""
    for option in ("gather", "shares"):
        refuse(context, option, "goes with --distributed only")


def refuse_with_shares(context: typer.Context) -> None:
    """What needs all rows on one process, or files that are not cut into shares."""
    for option in ("calibration", "balanced", "checkpoint", "resume_from", "missing"):
        refuse(context, option, "does not go with --shares: it needs all rows")
    for option in ("label", "labels", "column", "header", "delimiter", "encoding"):
        refuse(context, option, "does not go with --shares, which are of svmlight text")
    if context.params["scale"] not in ("auto", "none"):
        refuse(context, "scale", "does not go with --shares: ranges are those of all rows")


def refuse_without_stream(context: typer.Context) -> None:
    """What only a stream has."""
    for option in ("passes", "batch", "classes", "shuffle_size", "scratch"):
        refuse(context, option, "goes with --stream only")
