"""Random columns and tables, most of them unpleasant: the same number gives the same one."""

import numpy as np
import pandas as pd

WORDS = [
    "north",
    "süd",
    "East ",
    "",
    "=1+1",
    "-x",
    "@a",
    'a "b"',
    "a,b",
    "a;b",
    "NA",
    "null",
    "[/red]",
    "日本",
    "\U0001f600",
    "x" * 300,
]
CELLS = [
    "",
    "abc",
    "40h",
    "1,5",
    "1.234,5",
    "inf",
    "-inf",
    "nan",
    "1e400",
    "12%",
    "#N/A",
    "True",
    "yes",
    "2020-13-45",
    "9" * 40,
    " 3 ",
    "\t",
]


def _numbers(random, rows):
    return random.standard_normal(rows)


def _scaled(random, rows):
    return 10.0 ** random.integers(-200, 200) * (random.standard_normal(rows) + 10.0 ** random.integers(-3, 14))


def _whole(random, rows):
    return random.integers(-5, random.choice([3, 50, 10**9]), rows)


def _heavy(random, rows):
    return random.standard_cauchy(rows) ** 3


def _constant(random, rows):
    return np.full(rows, random.choice([0.0, 1.0, -1e9, np.nan, np.inf]))


def _with_gaps(random, rows):
    return np.where(random.random(rows) < random.choice([0.05, 0.5, 0.95]), np.nan, random.standard_normal(rows))


def _with_infinite(random, rows):
    return np.where(random.random(rows) < 0.1, random.choice([np.inf, -np.inf, 1e308, 5e-324]), random.random(rows))


def _two_values(random, rows):
    return random.choice(random.choice([[0, 1], [-1e6, 1e6], [0.1, 0.1 + 1e-15]]), rows)


def _dirty_text(random, rows):
    """Numbers as text, with a few cells that are none."""
    cells = np.array([f"{value:.3f}" for value in random.standard_normal(rows)], dtype=object)
    cells[random.random(rows) < random.choice([0.02, 0.3])] = random.choice(CELLS)
    return cells


def _decimal_commas(random, rows):
    return np.array([f"{value:.2f}".replace(".", ",") for value in random.uniform(0, 99, rows)], dtype=object)


def _dates(random, rows):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(-30_000, 30_000, rows), unit="D")
    return np.array(
        days.strftime(pick(random, ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M:%S"])), dtype=object
    )


def _mixed_dates(random, rows):
    return np.where(random.random(rows) < 0.1, random.choice(["soon", "2020-02-30", "", "1"]), _dates(random, rows))


def _few_words(random, rows):
    return random.choice(np.array(WORDS, dtype=object), rows)


def _all_different(random, rows):
    return np.array([f"id-{number}" for number in random.permutation(rows)], dtype=object)


def _many_words(random, rows):
    return np.array([f"job {number}" for number in random.integers(0, max(rows // 3, 1), rows)], dtype=object)


def _truths(random, rows):
    return random.choice(np.array(random.choice([["True", "False"], ["yes", "no"], ["1", ""]]), dtype=object), rows)


def _codes(random, rows):
    return random.choice(np.array(["01", "02", "1.0", "1", "A1"], dtype=object), rows)


def _of_everything(random, rows):
    return random.choice(np.array([*WORDS, *CELLS, "1", "2.5"], dtype=object), rows)


COLUMNS = [
    value
    for name, value in list(globals().items())
    if name.startswith("_") and getattr(value, "__module__", "") == __name__
]


def pick(random, choices):
    """One of the choices, whatever their types."""
    return choices[int(random.integers(len(choices)))]


def any_column(random, rows):
    """One column of any of these kinds, possibly in few distinct values."""
    column = pick(random, COLUMNS)(random, rows)
    return column[random.integers(0, max(rows // 10, 1), rows)] if rows and random.random() < 0.1 else column


def any_table(random, rows, columns):
    """A table of such columns under unpleasant names."""
    names = [
        pick(random, [f"c{k}", f"c {k}", f"c,{k}", f"=c{k}", f"ç{k}", f"[red]{k}", f"{k}"]) for k in range(columns)
    ]
    return pd.DataFrame(
        {name: pick(random, [_numbers, _whole, any_column, any_column])(random, rows) for name in names}
    )


def write(random, table, folder, name):
    """A CSV file in one of several dialects, or Parquet where its types allow it; returns its path."""
    if random.random() < 0.2:
        try:
            table.to_parquet(folder / f"{name}.parquet", index=bool(random.random() < 0.3))
        except (ValueError, TypeError, OverflowError):  # pyarrow's own refusal of mixed types
            pass
        else:
            return folder / f"{name}.parquet"
    path = folder / f"{name}.csv"
    separator, encoding = pick(random, [",", ",", ";", "\t"]), pick(random, ["utf-8", "utf-8", "utf-8-sig", "utf-16"])
    table.to_csv(path, index=bool(random.random() < 0.1), sep=separator, encoding=encoding)
    if random.random() < 0.05:  # a file that broke off, or has a line too long
        text = path.read_bytes()
        path.write_bytes(
            pick(random, [text[: len(text) // 2], text + b"1,2,3,4,5,6,7,8,9,10,11,12,13\n", b"", text[:20]])
        )
    return path
