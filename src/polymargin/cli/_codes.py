"""Exit codes, and what they are for."""

from enum import IntEnum

NOTHING_WRITTEN = "interrupted; no file was written"


class Exit(IntEnum):
    """What the command tells its caller."""

    DONE = 0
    BUG = 1  # with a traceback
    USAGE = 2  # options that are wrong or do not go together
    INPUT = 3  # a file that is missing, malformed or not what it should be
    OUTPUT = 4  # a file that cannot be written
    NOT_CONVERGED = 5  # the model was written, its gap is above the tolerance
    INTERRUPTED = 130  # Ctrl-C
    PIPE_CLOSED = 141  # who read the output has gone
    TERMINATED = 143  # SIGTERM or SIGHUP
