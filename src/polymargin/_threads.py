"""Number of threads that `n_jobs` stands for."""

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend


def count_threads(n_jobs: int | None) -> int:
    """As joblib counts, except that "all cores" is one thread inside a joblib worker.

    The cores are taken there by the other workers. A positive `n_jobs` is used as it is.
    """
    backend, _ = get_active_backend()
    inside_worker = (backend.nesting_level or 0) > 0
    if inside_worker and n_jobs is not None and n_jobs < 0:
        return 1
    return int(effective_n_jobs(n_jobs))
