import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def figures_closed():
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


def gaussian(rows, attributes, configs, seed=0):
    """Predictions (config, row) and attributes (row, attribute) of unlike means and scales, in float64."""
    random = np.random.default_rng(seed)
    mean, scale = 3.0 * np.arange(attributes) - 2.0, 0.5 + np.arange(attributes)
    a = mean + scale * random.standard_normal((rows, attributes))
    f = torch.from_numpy(random.standard_normal((configs, rows)) + np.sin(a[:, 0]) * np.arange(1, configs + 1)[:, None])
    return f, a
