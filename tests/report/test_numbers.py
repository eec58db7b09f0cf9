import pytest

from fairlevel.report.numbers import attributes_in_words, distinguishable, number, p_cell, p_phrase, percent


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1972.0, 4, "1972"),
        (-6270.4, 2, "−6270"),
        (62704.2, 2, "62,704"),
        (1234567.8, 4, "1,234,568"),
        (12.2, 3, "12.2"),
        (9.996, 3, "10.0"),
        (0.03125, 3, "0.0312"),
        (-0.5, 2, "−0.50"),
        (0.0, 4, "0"),
        (float("nan"), 4, "–"),
        (3.1e-8, 3, "3.10 × 10⁻⁸"),
        (2.5e15, 2, "2.5 × 10¹⁵"),
    ],
)
def test_numbers_as_people_write_them(value, digits, text):
    assert number(value, digits).replace("\N{NO-BREAK SPACE}", " ") == text


def test_percentages():
    assert percent(0.352).replace("\N{NO-BREAK SPACE}", " ") == "35.2 %"
    assert percent(0.5, 0).replace("\N{NO-BREAK SPACE}", " ") == "50 %"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1 / 4001, ".0002"),
        (9e-5, "< .0001"),
        (2 / 4001, ".0005"),
        (0.0124, ".012"),
        (0.345, ".34"),
        (1.0, "1.00"),
        (0.0996, ".100"),
    ],
)
def test_p_values(p, text):
    assert p_cell(p).replace("\N{NO-BREAK SPACE}", " ") == text


def test_p_values_in_sentences():
    assert p_phrase(1e-7).split() == ["p", "<", ".0001"]
    assert p_phrase(0.5).split() == ["p", "=", ".50"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-122.134, -122.351], ["−122.134", "−122.351"]),
        ([47.56, 47.71, 45.2], ["47.56", "47.71", "45.20"]),
        ([35_000.57, 61_250.1], ["35,001", "61,250"]),
        ([1972, 2004.0], ["1972.0", "2004.0"]),
        ([8_000.2, 61_250.1], ["8,000", "61,250"]),
        ([0.5, 0.5], ["0.5000", "0.5000"]),
        ([1.5, float("nan"), 3.25], ["1.50", "–", "3.25"]),
        ([], []),
    ],
)
def test_numbers_of_a_column_are_told_apart(values, expected):
    assert distinguishable(values) == expected


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("a", "a"),
        ("abcd", "a, b, c, d"),
        ("abcde", "a, b, c, d, e"),
        ("abcdef", "a, b, c, d and 2 other attributes"),
    ],
)
def test_long_lists_of_attributes_are_counted(names, words):
    assert attributes_in_words(list(names)) == words
