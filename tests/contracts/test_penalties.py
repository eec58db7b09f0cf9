"""Every registered penalty keeps the contract."""

import numpy as np
import pytest

from fairlevel.exceptions import UnknownName
from fairlevel.penalties import NAMES, resolve_penalty
from tests.contracts.penalty_cases import CASES
from tests.contracts.penalty_contract import CHECKS
from tests.contracts.sanity import RHO, draw


@pytest.fixture
def every_function_of_a(monkeypatch):
    """As in the formula: closed FBO leaves out negligible functions of A otherwise."""
    monkeypatch.setattr("fairlevel.penalties.fbo_closed.NEGLIGIBLE", 0.0)


@pytest.mark.usefixtures("every_function_of_a")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_contract(name, check):
    check(resolve_penalty(name), CASES[name])


def test_every_penalty_has_a_case():
    assert set(CASES) == set(NAMES)


def test_sanity_cases_are_what_they_claim():
    a, f = draw(200_000)
    assert abs(np.corrcoef(a[:, 0], f[0])[0, 1] - RHO) < 0.01
    assert abs(np.corrcoef(a[:, 0], f[1])[0, 1]) < 0.03
    assert abs(np.corrcoef(a[:, 0] ** 2, f[2].numpy() ** 2)[0, 1]) > 0.3  # the spread of A·Z follows A


def test_names_resolve_and_unknown_ones_list_the_known():
    for name in NAMES:
        assert resolve_penalty(name).name == name
    with pytest.raises(
        UnknownName, match=r"Did you mean 'hsic'\? Known: adversarial, adversarial_plain, fbo, fbo_closed,"
    ):
        resolve_penalty("hsci")
