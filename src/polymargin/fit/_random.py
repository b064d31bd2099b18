"""Random numbers of a fit, from whatever the user gives as their source."""

import numpy as np
from sklearn.utils import check_random_state

RandomSource = int | np.random.RandomState | np.random.Generator | None


def draw_seed(random_state: RandomSource) -> int:
    """A seed for one use; a generator moves on by one draw, a number gives the same each time."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))
