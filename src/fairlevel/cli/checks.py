"""What can be refused before anything heavy is imported: files, columns and folders."""

from __future__ import annotations

import codecs
import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote

from fairlevel.exceptions import InvalidInput, UnknownName

READERS = (".csv", ".parquet")
_NEEDED = f"ending in {' or '.join(READERS)} is needed."
_PANDAS_READERS = {".xlsx": "read_excel", ".xls": "read_excel", ".json": "read_json", ".feather": "read_feather"}
_PANDAS_READERS |= dict.fromkeys((".gz", ".bz2", ".xz", ".zip"), "read_csv")
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",  # with which that of UTF-32 begins
    codecs.BOM_UTF16_BE: "utf-16",
}


def require_readable(path: Path) -> None:
    """Raise an error if a file does not exist or is neither CSV nor Parquet, with what to type where that is known."""
    ending, more = path.suffix.lower(), ""
    if path.is_dir():
        raise InvalidInput(f"{str(path)!r} is a folder; a file {_NEEDED}")
    if ending in READERS:
        if not path.is_file():
            raise InvalidInput(f"{str(path)!r} does not exist.")
        return
    if not ending:
        more = " Standard input and pipes are not read: write the rows to a file first, such as rows.csv."
    elif ending in (".tsv", ".txt"):
        more = " Columns separated by tabs, semicolons or commas are read: rename the file."
    elif ending in _PANDAS_READERS:
        written = path.with_name(path.name.partition(".")[0] + ".csv")
        code = f"import pandas; pandas.{_PANDAS_READERS[ending]}({str(path)!r}).to_csv({str(written)!r}, index=False)"
        more = f" To convert it: python -c {quote(code)}"
    given = f"ends in {path.suffix!r}" if ending else "has no ending"
    raise InvalidInput(f"{path.name!r} {given}; a file {_NEEDED}{more}")


def require_writer(path: Path) -> None:
    """Raise an error if the name of a table to write ends in neither .csv nor .parquet."""
    if path.suffix.lower() not in READERS:
        raise InvalidInput(f"{path.name!r} ends in {path.suffix!r}; a name {_NEEDED}")


def require_columns(path: Path, names: Iterable[str | None]) -> None:
    """Raise an error if a file cannot be read, or one of the columns is not there or there twice; names that were not
    given do not count.
    """
    require_readable(path)
    wanted, known = [name for name in names if name], column_names(path)
    for name in wanted:
        if name not in known:
            raise UnknownName(f"column of {path.name}", name, known)
    refuse_doubles(path, wanted)


def refuse_two_roles(option: str, columns: Iterable[str], others: Mapping[str, Sequence[str]]) -> None:
    """Raise an error if a column of an option is also named in another one."""
    for column in columns:
        for other, names in others.items():
            if column in names:
                raise InvalidInput(f"{option} {column} is also named in {other}; a column has one role.")


def refuse_doubles(path: Path, names: Iterable[str]) -> None:
    """Raise an error if several columns of a file have one of these names: which one is meant cannot be told."""
    known = column_names(path)
    for name in names:
        count = known.count(name)
        if count > 1:
            raise InvalidInput(f"{path.name!r} has {count} columns named {name!r}; give each column a name of its own.")


def column_names(path: Path) -> list[str]:
    """The columns of a CSV or Parquet file, read from its first line or its schema; without a name they are called as
    pandas calls them.
    """
    try:
        if is_parquet(path):
            import pyarrow.parquet

            return [str(name) for name in pyarrow.parquet.read_schema(path).names]
        with path.open(encoding=encoding(path), newline="") as file:
            names = next(filter(None, csv.reader(file, delimiter=separator(path))), [])
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from None
    except (ValueError, OSError, csv.Error) as error:
        raise InvalidInput(f"{path.name!r} cannot be read: {' '.join(str(error).split())}.") from None
    if not names:
        raise InvalidInput(f"{path.name!r} cannot be read: it is empty.")
    if len(names) <= 2 and names[0].lower().startswith("sep="):
        raise InvalidInput(
            f"{path.name!r} begins with {names[0]!r}, a line for spreadsheets; names of columns are needed there: "
            "delete that line."
        )
    return [name or f"Unnamed: {number}" for number, name in enumerate(names)]


def is_parquet(path: Path) -> bool:
    """By the ending of the name."""
    return path.suffix.lower() == ".parquet"


def encoding(path: Path) -> str:
    """UTF-8, or what the byte order mark at the beginning of a CSV file says, as spreadsheets write it."""
    with path.open("rb") as file:
        begin = file.read(1000)
    for mark, code in _MARKS.items():
        if begin.startswith(mark):
            return code
    if b"\0" in begin:  # which UTF-8 would read as a character
        raise InvalidInput(
            f"{path.name!r} holds bytes of 0, as UTF-16 or UTF-32 without a mark does; save it as CSV UTF-8."
        )
    return "utf-8-sig"


def separator(path: Path) -> str:
    """Of comma, semicolon, tab and bar the one that separates the names of columns: the most frequent one outside of
    double quotes.
    """
    with path.open(encoding=encoding(path), errors="replace") as file:
        first = next((line for line in file if line.strip()), "")
    return max(",;\t|", key="".join(first.split('"')[::2]).count)


def not_utf8(path: Path, error: UnicodeDecodeError) -> InvalidInput:
    """What to do about a file in another encoding."""
    code = encoding(path)
    if code != "utf-8-sig":
        return InvalidInput(
            f"{path.name!r} begins as {code.upper()}, but is not (byte {error.start}); save it as UTF-8."
        )
    return InvalidInput(
        f"{path.name!r} is not UTF-8 (byte {error.start}); save it as CSV UTF-8, or convert it, such as iconv -f "
        f"cp1252 -t utf-8 {quote(str(path))} > {quote(f'{path.stem}-utf8{path.suffix}')}."
    )


def refuse_existing(out: Path, force: bool) -> None:
    """Raise an error if a folder exists, unless it holds a front and may be replaced."""
    if out.exists() and not force:
        raise InvalidInput(f"{str(out)!r} exists; choose another --out, or pass --force to replace it.")
    if out.exists() and not (out / "front.csv").is_file():
        raise InvalidInput(f"{str(out)!r} exists and holds no front, so it is not replaced; choose another --out.")
    parent = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InvalidInput(f"{str(out)!r} cannot be written: {str(parent)!r} cannot hold it; choose another --out.")
