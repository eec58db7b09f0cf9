"""What can be refused before anything heavy is imported: files, columns and folders."""

from __future__ import annotations

import codecs
import csv
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from fairlevel.exceptions import InvalidInput, UnknownName

READERS = (".csv", ".parquet")
_PANDAS_READERS = {".gz": "read_csv", ".bz2": "read_csv", ".xz": "read_csv", ".zip": "read_csv"} | {
    ".xlsx": "read_excel",
    ".xls": "read_excel",
    ".json": "read_json",
    ".feather": "read_feather",
}
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"} | {
    codecs.BOM_UTF16_LE: "utf-16",  # with which that of UTF-32 begins
    codecs.BOM_UTF16_BE: "utf-16",
}
_WITHOUT_MARK = {
    "utf-32le": (False, True, True, True),
    "utf-32be": (True, True, True, False),
    "utf-16le": (False, True),
    "utf-16be": (True, False),
}
"""Which bytes of a first letter are 0."""
_SEPARATORS = (",", ";", "\t", "|")


def require_readable(path: Path) -> None:
    """Raise an error if a file does not exist or is neither CSV nor Parquet."""
    if path.is_dir():
        raise InvalidInput(f"{str(path)!r} is a folder; a file ending in {' or '.join(READERS)} is needed.")
    if path.suffix.lower() not in READERS:
        given = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        needed = f"{path.name!r} {given}; a file ending in {' or '.join(READERS)} is needed."
        raise InvalidInput(needed + _how_to_convert(path))
    if not path.is_file():
        raise InvalidInput(f"{str(path)!r} does not exist.")


def _how_to_convert(path: Path) -> str:
    """A sentence with what to type, or nothing for a format that is not known."""
    if not path.suffix:
        return " Standard input and pipes are not read: write the rows to a file first, such as rows.csv."
    if path.suffix.lower() in (".tsv", ".txt"):
        return " Columns separated by tabs, semicolons or commas are read: rename the file."
    reader = _PANDAS_READERS.get(path.suffix.lower())
    if reader is None:
        return ""
    written = path.with_name(path.name.partition(".")[0] + ".csv")
    code = f"import pandas; pandas.{reader}({str(path)!r}).to_csv({str(written)!r}, index=False)"
    return f" To convert it: python -c {shlex.quote(code)}"


def require_writer(path: Path) -> None:
    """Raise an error if the name of a table to write ends in neither .csv nor .parquet."""
    if path.suffix.lower() not in READERS:
        raise InvalidInput(f"{path.name!r} ends in {path.suffix!r}; a name ending in {' or '.join(READERS)} is needed.")


def refuse_table_name(option: str, path: Path, ending: str) -> None:
    """Raise an error if a file that is no table would be called like one: it could replace the rows."""
    if path.suffix.lower() in READERS:
        raise InvalidInput(
            f"{option} {str(path)!r} ends in {path.suffix!r}, as files with rows do, and could replace one; choose a "
            f"name such as {path.with_suffix(ending).name}."
        )


def require_columns(path: Path, names: Iterable[str | None]) -> None:
    """Raise an error if a file cannot be read, or one of the columns is not there or there twice; names that were not
    given do not count.
    """
    require_readable(path)
    wanted, known = [name for name in names if name], column_names(path)
    for name in wanted:
        if name not in known:
            raise _unknown(path, name, known)
    refuse_doubles(path, wanted)


def _unknown(path: Path, name: str, known: list[str]) -> InvalidInput:
    """Spaces around the name in the file are hard to see, and have to be typed."""
    spaced = next((each for each in known if each.strip() == name.strip()), None)
    if spaced is None:
        return UnknownName(f"column of {path.name}", name, known)
    return InvalidInput(
        f"{path.name!r} has no column {name!r}, but {spaced!r}, with spaces around its name; remove them from the file "
        f"or type them: --target '{spaced}', and in lists in double quotes, such as --sensitive '\"{spaced}\"'."
    )


def refuse_doubles(path: Path, names: Iterable[str]) -> None:
    """Raise an error if several columns of a file have one of these names: which one is meant cannot be told."""
    known = column_names(path)
    for name in names:
        if known.count(name) > 1:
            raise InvalidInput(
                f"{path.name!r} has {known.count(name)} columns named {name!r}; give each column a name of its own."
            )


def column_names(path: Path) -> list[str]:
    """The columns of a CSV or Parquet file, read from its first line or its schema; without a name they are called as
    pandas calls them.
    """
    try:
        if is_parquet(path):
            import pyarrow.parquet

            return [str(name) for name in pyarrow.parquet.read_schema(path).names]
        with path.open(encoding=encoding(path), newline="") as file:
            found = next(filter(None, csv.reader(file, delimiter=separator(path))), [])
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from None
    except (ValueError, OSError, csv.Error) as error:
        raise InvalidInput(f"{path.name!r} cannot be read: {' '.join(str(error).split())}.") from None
    if not found:
        raise InvalidInput(f"{path.name!r} cannot be read: it is empty.")
    if len(found) <= 2 and found[0].lower().startswith("sep="):
        raise InvalidInput(
            f"{path.name!r} begins with {found[0]!r}, a line for spreadsheets; names of columns are needed there: "
            "delete that line."
        )
    return [name or f"Unnamed: {number}" for number, name in enumerate(found)]


def encoding(path: Path) -> str:
    """UTF-8, or what the byte order mark at the beginning of a CSV file says, as spreadsheets write it."""
    with path.open("rb") as file:
        begin = file.read(1000)
    for mark, code in _MARKS.items():
        if begin.startswith(mark):
            return code
    if b"\0" in begin:  # which UTF-8 would read as a character
        zeros = tuple(byte == 0 for byte in begin[:4])
        unmarked = next((code for code, pattern in _WITHOUT_MARK.items() if pattern == zeros[: len(pattern)]), None)
        if unmarked is None:
            raise InvalidInput(f"{path.name!r} holds bytes of 0, as UTF-16 without a mark does; save it as CSV UTF-8.")
        raise InvalidInput(
            f"{path.name!r} is {unmarked.upper()} without a mark; save it as CSV UTF-8{_conversion(path, unmarked)}."
        )
    return "utf-8-sig"


def separator(path: Path) -> str:
    """Of comma, semicolon, tab and bar the one that separates the names of columns: the most frequent one outside of
    double quotes.
    """
    with path.open(encoding=encoding(path), errors="replace") as file:
        first = next((line for line in file if line.strip()), "")
    return max(_SEPARATORS, key="".join(first.split('"')[::2]).count)


def is_parquet(path: Path) -> bool:
    """By the ending of the name."""
    return path.suffix.lower() == ".parquet"


def not_utf8(path: Path, error: UnicodeDecodeError) -> InvalidInput:
    """What to do about a file in another encoding."""
    code = encoding(path)
    if code != "utf-8-sig":
        return InvalidInput(
            f"{path.name!r} begins as {code.upper()}, but is not (byte {error.start}); save it as UTF-8."
        )
    return InvalidInput(
        f"{path.name!r} is not UTF-8 (byte {error.start}); save it as CSV UTF-8{_conversion(path, 'cp1252')}."
    )


def _conversion(path: Path, code: str) -> str:
    converted = f"{path.stem}-utf8{path.suffix}"
    return f", or convert it, such as iconv -f {code} -t utf-8 {shlex.quote(str(path))} > {shlex.quote(converted)}"


def refuse_existing(out: Path, force: bool) -> None:
    """Raise an error if a folder exists, unless it holds a front and may be replaced."""
    if out.exists() and not force:
        raise InvalidInput(f"{str(out)!r} exists; choose another --out, or pass --force to replace it.")
    if out.exists() and not (out / "front.csv").is_file():
        raise InvalidInput(f"{str(out)!r} exists and holds no front, so it is not replaced; choose another --out.")
    parent = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InvalidInput(f"{str(out)!r} cannot be written: {str(parent)!r} cannot hold it; choose another --out.")
