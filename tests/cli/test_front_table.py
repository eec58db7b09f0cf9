"""The table of a front in a terminal."""

import pandas as pd
from rich.console import Console

from fairlevel.cli.front_folder import front_table


def test_large_numbers_are_not_cut_off():
    row = {"mse": 151_802.0**2, "r2": 0.825, "dpvar": 37_440_266_123.0, "share": 0.382}
    row |= {"dpvar_low": 175_665.0**2, "dpvar_high": 213_670.0**2}
    console = Console(width=80)
    with console.capture() as shown:
        console.print(front_table({"most accurate": pd.Series(row), "knee": pd.Series(row)}))
    assert shown.get().count("37,440,266,123") == 2
    assert "…" not in shown.get()
