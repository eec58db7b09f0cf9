"""Requests to OpenML may go elsewhere; the opener of the process is put back."""

import urllib.request

import pytest

from fairlevel_study.sources import belongs_to_openml, mirrored


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://openml.org/d/1", True),
        ("https://api.openml.org/d/1", True),
        ("https://evilopenml.org/d/1", False),
        ("https://openml.org.example.com/d/1", False),
        ("file:///openml.org", False),
    ],
)
def test_only_openml_and_its_subdomains_are_redirected(url, expected):
    assert belongs_to_openml(url) is expected


@pytest.fixture
def opener():
    """What is installed, put back afterwards."""
    before = urllib.request._opener
    yield
    urllib.request.install_opener(before)


@pytest.mark.usefixtures("opener")
@pytest.mark.parametrize("mine", [None, urllib.request.build_opener()])
def test_the_users_opener_is_installed_again(mine):
    urllib.request.install_opener(mine)
    with mirrored("http://127.0.0.1:9"):
        assert urllib.request._opener is not mine
    assert urllib.request._opener is mine
    with pytest.raises(KeyError), mirrored("http://127.0.0.1:9"):
        raise KeyError
    assert urllib.request._opener is mine


@pytest.mark.usefixtures("opener")
def test_without_a_mirror_nothing_is_installed():
    mine = urllib.request.build_opener()
    urllib.request.install_opener(mine)
    with mirrored(None):
        assert urllib.request._opener is mine
