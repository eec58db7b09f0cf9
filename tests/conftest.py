"""Imports are light: the process that hands out tests to others reads this file, too."""

import gc

import numpy as np
import pytest

FIT_PATHS = {"browser", "cli", "contracts", "estimators", "models", "predictors", "releveling"}
"""Folders whose tests fit paths."""
TEST_PATHS = {"test_fairness_path", "test_share_by_fold"}
"""Files that test the path itself."""


def pytest_collection_finish():
    """What was imported and collected stays to the end; the collector need not look at it again after every test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_windows():
    import matplotlib

    matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def figures_closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module", autouse=True)
def few_points(request):
    """Paths measure 6 points instead of 12, and calibrate budgets on shares at 3 points instead of 8, each of which
    solves programmes in every fold; tests of paths, pages and studies have all of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name in FIT_PATHS and request.path.stem not in TEST_PATHS:
            patch.setattr("fairlevel.estimators.path_fit.POINTS", 6)
            patch.setattr("fairlevel.fronts.evaluation.SHARE_POINTS", 3)
        yield


@pytest.fixture
def random():
    return np.random.default_rng(0)
