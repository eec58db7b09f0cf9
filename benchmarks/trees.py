"""Trees side by side: fair boosters, re-levelled models, and what they are compared with.

``python -m benchmarks.trees STUDY ... --data-dir FOLDER --out rows.parquet``; the folder is laid out as for ``fairlevel
bench``. A study gives rows for one table and seed at a time. They are written as they come, with the commit they are
from; what a file already holds is not computed again. Tables are split as in the study of the paper: at most 4000 rows,
60 % for training, 20 % validation, 20 % test; sensitive attributes are constructed from the columns.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import lightgbm as lgb
import numpy as np
import typer
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold

from benchmarks.kept_rows import run_tasks
from fairlevel import FairnessPath, FairRegressor, dpvar_interval, relevel
from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.native_columns import NativeColumns
from fairlevel.exceptions import FairLevelError
from fairlevel.fronts.budget import DPVAR, Budget
from fairlevel.fronts.combiners import Stacked
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.metrics.mixtures import shared_mean
from fairlevel.predictors import Boosting
from fairlevel_study.datasets import TableDataset
from fairlevel_study.protocol import PROTOCOLS
from fairlevel_study.sources import Source, resolve_source
from fairlevel_study.task import commit, train_candidates

TABLES = [
    "abalone",
    "acs_gov_census",
    "adult_hours",
    "air_quality",
    "bike_sharing",
    "brazilian_houses",
    "communities_crime",
    "compas_decile",
    "concrete",
    "cps88wages",
    "cpu_act",
    "diamonds",
    "elevators",
    "fifa20",
    "health_insurance",
    "insurance",
    "kin8nm",
    "kings_county",
    "law_school",
    "miami_housing",
    "protein",
    "skillcraft",
    "space_ga",
    "sulfur",
    "wage_islr",
    "wind",
]
REAL_ATTRIBUTES = {
    "communities_crime": "racepctblack",
    "diabetes": "bmi",
    "compas_decile": "race",
    "college_distance": "ethnicity",
}
LEVELS = (0.1, 0.25, 0.5)  # of the DPVar of a plain model
PROTOCOL = replace(PROTOCOLS["medium"], clip=np.inf)
BOOSTER = {"learning_rate": 0.05, "num_leaves": 31, "verbose": -1, "n_jobs": 1, "random_state": 0}
DRAWS, FOLDS = 30, 5

Rows = Iterator[dict[str, Any]]


def r2(prediction: Array, target: Array) -> float:
    return float(1 - ((prediction - target) ** 2).mean() / target.var())


def split(source: Source, table: str, seed: int) -> tuple[Any, Array, Array, Array]:
    """The problem, and features, targets and attributes of training and validation rows together."""
    problem = TableDataset(table, source).problem(seed, PROTOCOL)
    both = problem.training.joined(problem.validation)
    return problem, both.x, both.y, both.some_attributes.values


def at_levels(predictions: Array, target: Array, attributes: Array, levels: Array) -> Array:
    """The smallest MSE of straight lines between neighbours at given DPVar, all on the same rows.

    Shapes: predictions (model, row), from the most level to the most accurate.
    """
    steps = np.linspace(0, 1, 5)[:, None, None]
    between = (1 - steps) * predictions[None, :-1] + steps * predictions[None, 1:]
    every = between.transpose(1, 0, 2).reshape(-1, predictions.shape[1])
    dpvar = dpvar_of_many(every, Attributes(attributes))
    mse = ((every - target) ** 2).mean(axis=1)
    found = []
    for level in levels:
        above = np.flatnonzero((dpvar[:-1] <= level) & (dpvar[1:] > level))
        here = [np.interp(level, dpvar[[k, k + 1]], mse[[k, k + 1]]) for k in above]
        found.append(min([*here, *mse[dpvar <= level][-1:]], default=np.nan))
    return np.array(found)


def plain_models(problem: Any) -> dict[str, Any]:
    """A LightGBM model that was stopped early, and a forest; trained on the training rows."""
    x, y = problem.training.x, problem.training.y
    count = int(0.85 * len(x))
    stop = [lgb.early_stopping(40, verbose=False)]
    booster = lgb.LGBMRegressor(n_estimators=1000, **BOOSTER)
    forest = RandomForestRegressor(200, min_samples_leaf=5, max_features=1 / 3, random_state=0, n_jobs=1)
    return {
        "lightgbm": booster.fit(x[:count], y[:count], eval_set=[(x[count:], y[count:])], callbacks=stop),
        "forest": forest.fit(x, y),
    }


def relevelled(source: Source, table: str, seed: int) -> Rows:
    """Re-levelled on validation rows, against shrinking to the mean."""
    problem, *_ = split(source, table, seed)
    own, test = problem.validation, problem.test
    a, attributes = own.some_attributes.values, test.some_attributes.values
    for name, model in plain_models(problem).items():
        before, mean = model.predict(test.x), float(model.predict(own.x).mean())
        plain, levels = levels_of(before, attributes)
        shrunk = ((mean + np.sqrt(LEVELS)[:, None] * (before - mean) - test.y) ** 2).mean(axis=1)
        facts = {"model": name, "plain_dpvar": plain, "share": plain / float(before.var())}
        for method in METHODS:
            start = time.process_time()
            front = relevel(model, own.x, sensitive_features=a, y=own.y, points=20, method=method)
            models = front.models()
            seconds = time.process_time() - start
            found = np.stack([np.full(len(test), mean), *(each.predict(test.x) for each in models)])
            errors = at_levels(found, test.y, attributes, levels)
            for level, error, other in zip(LEVELS, errors, shrunk, strict=True):
                figures = {"relevelled": float(error), "shrunk": float(other), "seconds": seconds}
                yield {**facts, "method": method, "level": level, **figures}


def claimed(source: Source, table: str, seed: int) -> Rows:
    """The error on new rows as a multiple of what the front says, on average over its models; and that of the model as
    it was given, of which nothing was chosen: by so much the new rows are easier or harder.
    """
    problem, *_ = split(source, table, seed)
    own, test = problem.validation, problem.test
    for name, model in plain_models(problem).items():
        front = relevel(model, own.x, sensitive_features=own.some_attributes.values, y=own.y)
        errors = [((each.predict(test.x) - test.y) ** 2).mean() for each in front.models()]
        ratios = (errors / front.front_["mse"]).to_numpy()
        yield {"model": name, "claimed": float(ratios.mean()), "given": float(ratios[-1])}


def levels_of(prediction: Array, attributes: Array) -> tuple[float, Array]:
    """The DPVar of a plain model, and the budgets on it."""
    plain = float(dpvar_of_many(prediction[None], Attributes(attributes))[0])
    return plain, plain * np.array(LEVELS)


def retrained(source: Source, table: str, seed: int) -> Rows:
    """24 fair boosters mixed on validation rows, at the budgets of the plain models."""
    problem, *_ = split(source, table, seed)
    own, test = problem.validation, problem.test
    attributes = test.some_attributes.values
    start = time.process_time()
    candidates = train_candidates(problem, "boosting", PROTOCOL, "cpu").without_diverged()
    predictions = candidates.predict(own.x)
    conditional = shared_mean(predictions, own.y, own.some_attributes, seed)
    disparity = conditional.disparity(predictions, own.some_attributes, seed)
    mixing = Stacked().over(predictions, own.y, own.some_attributes.weight, disparity)
    roots = np.linspace(np.sqrt(max(mixing.smallest(DPVAR), 1e-6)), np.sqrt(mixing.most_accurate.dpvar), 20)
    proportions = np.stack([mixing.within(Budget(DPVAR, root**2 * 1.0001 + 1e-9)).proportions for root in roots])
    mixed = proportions @ candidates.predict(test.x)
    seconds = time.process_time() - start
    for name, model in plain_models(problem).items():
        _, levels = levels_of(model.predict(test.x), attributes)
        for level, error in zip(LEVELS, at_levels(mixed, test.y, attributes, levels), strict=True):
            yield {"model": name, "level": level, "retrained": float(error), "seconds": seconds}


METHODS = ("averages", "trees")


def tuned(source: Source, table: str, seed: int) -> Rows:
    """LightGBM, 30 random draws, each judged by five folds with early stopping; the best one trained on all rows."""
    problem, x, y, _ = split(source, table, seed)
    random = np.random.default_rng(seed)
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(x))
    start, best = time.process_time(), (np.inf, {}, 1)
    for _ in range(DRAWS):
        drawn = {
            "num_leaves": round(np.exp(random.uniform(np.log(4), np.log(96)))),
            "learning_rate": float(np.exp(random.uniform(np.log(0.02), np.log(0.2)))),
            "min_child_samples": round(np.exp(random.uniform(np.log(5), np.log(60)))),
            "colsample_bytree": random.uniform(0.4, 1),
            "subsample": random.uniform(0.5, 1),
            "subsample_freq": 1,
            "reg_lambda": float(np.exp(random.uniform(np.log(1e-3), np.log(10)))),
        }
        errors, rounds = [], []
        for training, held in folds:
            model = lgb.LGBMRegressor(n_estimators=2000, **{**BOOSTER, **drawn})
            stop = [lgb.early_stopping(50, verbose=False)]
            model.fit(x[training], y[training], eval_set=[(x[held], y[held])], callbacks=stop)
            errors.append(model.best_score_["valid_0"]["l2"])
            rounds.append(model.best_iteration_)
        if np.mean(errors) < best[0]:
            best = (float(np.mean(errors)), drawn, max(1, round(1.1 * np.mean(rounds))))
    final = lgb.LGBMRegressor(n_estimators=best[2], **{**BOOSTER, **best[1]}).fit(x, y)
    seconds = time.process_time() - start
    yield {"r2": r2(final.predict(problem.test.x), problem.test.y), "rounds": best[2], **best[1], "seconds": seconds}


def default(source: Source, table: str, seed: int) -> Rows:
    """Our regressor without a penalty."""
    problem, x, y, a = split(source, table, seed)
    start = time.process_time()
    model = FairRegressor(0, random_state=0).fit(x, y, sensitive_features=a)
    found = r2(model.predict(problem.test.x), problem.test.y)
    yield {"r2": found, "rounds": model.n_iter_, "seconds": time.process_time() - start}


def accurate(source: Source, table: str, seed: int) -> Rows:
    """The most accurate point of our path."""
    problem, x, y, a = split(source, table, seed)
    start = time.process_time()
    path = FairnessPath(random_state=0).fit(x, y, sensitive_features=a)
    found = r2(path.model(-1).predict(problem.test.x), problem.test.y)
    yield {"r2": found, "claimed": float(path.front_["r2"].iloc[-1]), "seconds": time.process_time() - start}


def weighted(source: Source, table: str, seed: int) -> Rows:
    """Our regressor as it is, with weight 3; the constant beside it."""
    problem, x, y, a = split(source, table, seed)
    model = FairRegressor(3, random_state=0).fit(x, y, sensitive_features=a)
    test = problem.test
    found, constant = r2(model.predict(test.x), test.y), r2(np.full(len(test), y.mean()), test.y)
    yield {"r2": found, "constant": constant, "rows": len(x), "rounds": model.n_iter_}


def budgets(source: Source, table: str, seed: int) -> Rows:
    """Budgets of a tenth and 30 % of the plain figure, on rows that are new; attributes of the table itself."""
    loaded = source.load(table)
    frame = loaded.features.assign(target=loaded.target.to_numpy(float))
    frame = frame[frame[REAL_ATTRIBUTES[table]].notna()]
    frame = frame.iloc[np.random.default_rng(seed).permutation(len(frame))[:3000]].reset_index(drop=True)
    a, y = frame[[REAL_ATTRIBUTES[table]]], frame["target"].to_numpy()
    features = frame.drop(columns=["target", REAL_ATTRIBUTES[table]])
    x = NativeColumns.fit(features).transform(features)
    first, second, fresh = np.split(np.arange(len(x)), [int(0.4 * len(x)), int(0.7 * len(x))])
    model = lgb.LGBMRegressor(**BOOSTER).fit(x[first], y[first])
    fronts = {"relevel": relevel(model, x[second], sensitive_features=a.iloc[second], y=y[second])}
    both = np.concatenate([first, second])
    path = FairnessPath("boosting", random_state=seed)
    fronts["boosting"] = path.fit(x[both], y[both], sensitive_features=a.iloc[both])
    for name, front in fronts.items():
        for figure in ("dpvar", "share"):
            for part in (0.1, 0.3):
                most = part * float(front.front_[figure].iloc[-1])
                row = {"method": name, "figure": figure, "part": part, "budget": most}
                try:
                    prediction = front.best(**{f"max_{figure}": most}).predict(x[fresh])
                except FairLevelError as error:
                    yield {**row, "refused": str(error)[:120]}
                    continue
                measured = dpvar_interval(prediction, sensitive_features=a.iloc[fresh])
                low = measured.low if figure == "dpvar" else measured.share_low
                value = measured.estimate if figure == "dpvar" else measured.share
                yield {**row, "measured": value, "low": low, "mse": float(((prediction - y[fresh]) ** 2).mean())}


def edge(source: Source, table: str, seed: int) -> Rows:
    """Paths on a few rows less and a few more than 3000 and 8000, where an earlier and this version change."""
    loaded = TableDataset(table, source).problem(seed, replace(PROTOCOL, most_rows=20_000))
    joined = loaded.training.joined(loaded.validation)
    for rows in (2990, 3010, 7990, 8010):
        if rows <= len(joined):
            x, y, a = joined.x[:rows], joined.y[:rows], joined.some_attributes.values[:rows]
            path = FairnessPath(random_state=seed).fit(x, y, sensitive_features=a)
            found = np.stack([path.model(number).predict(loaded.test.x) for number in range(len(path.front_))])
            attributes = loaded.test.some_attributes.values
            plain = float(dpvar_of_many(found[-1:], Attributes(attributes))[0])
            errors = at_levels(found, loaded.test.y, attributes, plain * np.array(LEVELS))
            named = {f"mse_{level:g}": float(error) for level, error in zip(LEVELS, errors, strict=True)}
            yield {"rows": rows, "mse": float(((found[-1] - loaded.test.y) ** 2).mean()), **named}


def descent(source: Source, table: str, seed: int) -> Rows:
    """The objective after each tree, for weights up to 10,000; ``rise`` is the largest one from a tree to the next."""
    _, x, y, a = split(source, table, seed)
    for penalty in ("fbo_closed", "fbo_root", "r2", "gdp", "hsic"):
        for weight in (1.0, 100.0, 10_000.0):
            count = slice(None) if penalty != "hsic" else slice(600)
            model = FairRegressor(
                weight, penalty=penalty, predictor=Boosting(rounds=100), validation_fraction=None, random_state=0
            ).fit(x[count], y[count], sensitive_features=a[count])
            objective = (model.trace_["mse"] + weight * model.trace_["penalty"]).to_numpy()
            rise = float(np.diff(objective).max(initial=-np.inf) / max(abs(objective[0]), 1e-300))
            yield {"penalty": penalty, "weight": weight, "first": objective[0], "last": objective[-1], "rise": rise}


Study = Callable[[Source, str, int], Rows]
STUDIES: dict[str, tuple[Study, list[str], int]] = {
    "relevel": (relevelled, TABLES, 1),
    "claimed": (claimed, TABLES, 1),
    "retrained": (retrained, TABLES, 1),
    "tuned": (tuned, TABLES, 1),
    "default": (default, TABLES, 1),
    "accurate": (accurate, TABLES, 1),
    "weighted": (weighted, [], 1),  # all tables of the folder
    "budgets": (budgets, list(REAL_ATTRIBUTES), 20),
    "edge": (edge, ["california_housing"], 5),
    "descent": (descent, TABLES[:20], 1),
}


def rows_of(study: str, data_dir: Path, table: str, seed: int) -> list[dict[str, Any]]:
    """The rows of one table and seed."""
    try:
        found = list(STUDIES[study][0](resolve_source(data_dir), table, seed))
    except FairLevelError as error:  # a table that is refused is a result, too
        found = [{"error": f"{type(error).__name__}: {error}"[:200]}]
    return [{"commit": commit(), **row} for row in found]


def main(
    studies: Annotated[list[str], typer.Argument(help=f"One or more of: {', '.join(STUDIES)}.")],
    data_dir: Annotated[Path, typer.Option(help="Folder with the tables.")],
    out: Annotated[Path, typer.Option(help="Parquet file for the rows.")],
    only: Annotated[str, typer.Option(help="Tables, comma-separated; those of the study by default.")] = "",
    seeds: Annotated[int, typer.Option(help="Number of seeds; that of the study by default.")] = 0,
    processes: Annotated[int, typer.Option(help="How many tables at once.")] = 1,
) -> None:
    """Run studies; rows are written after each table and seed, and those that are there are kept."""
    asked, every = only.split(",") if only else [], resolve_source(data_dir).slugs
    tasks = [
        ((study, table, seed), partial(rows_of, study, data_dir, table, seed))
        for study in studies
        for seed in range(seeds or STUDIES[study][2])
        for table in asked or STUDIES[study][1] or every
    ]
    run_tasks(tasks, ("study", "table", "seed"), out, processes)


if __name__ == "__main__":
    typer.run(main)
