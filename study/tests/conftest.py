"""Fixtures of the product's tests hold here, too."""

from tests.conftest import figures_closed, no_windows, random  # noqa: F401
