"""A plugin of pytest: the estimator of several processes in the place of that of one."""

import polymargin
from polymargin import distributed


def pytest_configure() -> None:
    """Where this is loaded as a plugin; whoever looks for doctests here changes nothing."""
    polymargin.LinearSVM = distributed.LinearSVM
