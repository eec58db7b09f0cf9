"""Imports are light: the process that hands out tests to others reads this file, too."""

import numpy as np
import pytest


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
def short_diagnostic(request):
    """Audits train the networks of the paper's diagnostic on 200 rows, where they would spend most of their time; pages
    and studies show what users get.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name not in ("docs", "study"):
            patch.setattr("fairlevel.auditing.side_figures.PAPER_ROWS", 200)
        yield


@pytest.fixture
def random():
    return np.random.default_rng(0)
