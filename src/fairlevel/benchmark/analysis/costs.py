"""What each method costs, and how many of its models diverge."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fairlevel.benchmark.rows import KEY


def cost_table(rows: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """One row per method: tasks, models per task, share of models that diverged, seconds per task (median and sum) and
    the largest memory on a GPU (median over tasks, in MiB; missing on a CPU).
    """
    single = rows[rows["combiner"] == "best"]
    tasks = single.drop_duplicates(list(KEY))
    models = single.groupby("method").size()
    diverged = (single["status"] == "diverged").groupby(single["method"]).sum()
    by_method = tasks.groupby("method")
    table = pd.DataFrame(
        {
            "tasks": by_method.size(),
            "models per task": models / by_method.size(),
            "diverged": diverged / models,
            "seconds": by_method["seconds"].median(),
            "hours in all": by_method["seconds"].sum() / 3600,
            "memory (MiB)": by_method["memory"].median(),
        }
    )
    return table.reindex([name for name in methods if name in table.index]).rename_axis("method").reset_index()
