"""Number of threads that `n_jobs` stands for, and who keeps to it."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

_MOST = 256  # more threads than any machine has use for here


def count_threads(n_jobs: int | None) -> int:
    """As joblib counts, except that "all cores" is one thread inside a joblib worker.

    The cores are taken there by the other workers. A positive `n_jobs` is used as it is, up to 256.
    """
    backend, _ = get_active_backend()
    inside_worker = (backend.nesting_level or 0) > 0
    if inside_worker and n_jobs is not None and n_jobs < 0:
        return 1
    return min(int(effective_n_jobs(n_jobs)), _MOST)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def blas_threads(n_threads: int) -> AbstractContextManager[Any]:
    """Let the matrix products of NumPy use this many threads inside a block."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=n_threads, user_api="blas")
    return limit
