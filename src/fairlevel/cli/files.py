"""Tables in and out of files, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

import pandas as pd

from fairlevel.exceptions import InvalidInput

WRITERS = {
    ".csv": lambda table, path: table.to_csv(path, index=False),
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
}


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write CSV or Parquet by the ending of the name; a file that exists is replaced only when the new one is
    complete.
    """
    if path.suffix.lower() not in WRITERS:
        raise InvalidInput(f"{path.name!r} ends in {path.suffix!r}; a name ending in {' or '.join(WRITERS)} is needed.")
    if not path.parent.is_dir():
        raise InvalidInput(f"The folder {str(path.parent)!r} does not exist; create it with mkdir -p {path.parent}.")
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as handle:
            partial = Path(handle.name)
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} cannot be written ({error.strerror}); choose another folder.") from None
    try:
        WRITERS[path.suffix.lower()](table, partial)
        os.chmod(partial, 0o644)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
