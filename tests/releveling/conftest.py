import pytest


@pytest.fixture(scope="module", autouse=True)
def few_share_points():
    """Budgets on shares are calibrated at 3 points instead of 8, each of which solves programmes in every fold; tests
    of estimators and of the command line have all of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairlevel.estimators.evaluation.SHARE_POINTS", 3)
        yield
