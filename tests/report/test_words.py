import pytest

from fairlevel.report.words import attributes_in_words


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("a", "a"),
        ("abcd", "a, b, c, d"),
        ("abcde", "a, b, c, d and 1 other attribute"),
        ("abcdef", "a, b, c, d and 2 other attributes"),
    ],
)
def test_long_lists_of_attributes_are_counted(names, words):
    assert attributes_in_words(list(names)) == words
