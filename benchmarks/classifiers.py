"""Classifiers side by side: ours, fairlearn's and plain LightGBM, on tables with a real sensitive attribute.

``python -m benchmarks.classifiers --data-dir FOLDER --out rows.parquet``; the folder is laid out as for ``fairlevel
bench``. The target of each table is cut at its median. fairlearn knows groups only, so A is cut into 2 or 8 groups of
equal size for it. One row per model: figures on test rows that trained nothing.
"""

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import typer
from fairlearn.adversarial import AdversarialFairnessClassifier
from fairlearn.metrics import demographic_parity_difference
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.kept_rows import run_tasks
from fairlevel import FairClassifier, FairnessPath, __version__, dpvar_interval, relevel
from fairlevel.data.native_columns import NativeColumns
from fairlevel_study.sources import resolve_source
from fairlevel_study.task import commit

ATTRIBUTES = {
    "adult_hours": "age",
    "law_school": "fam_inc",
    "compas_decile": "age",
    "communities_crime": "racepctblack",
    "wage_islr": "age",
    "acs_gov_census": "age",
    "nmes1988": "income",
    "student_por": "age",
    "health_insurance": "experience",
    "cps88wages": "experience",
}
MOST_ROWS = 3000
TRAINED = 0.6
BOUNDS = (0.02, 0.08)  # of fairlearn's reduction: allowed differences
GROUPS = (2, 8)
BOOSTER = {"n_estimators": 100, "num_leaves": 15, "learning_rate": 0.08, "verbose": -1, "n_jobs": 1, "random_state": 0}


class Problem:
    """One table and seed: features as numbers, classes, A and its groups, training and test rows."""

    def __init__(self, source, name, seed):
        table = source.load(name)
        attribute = ATTRIBUTES[name]
        frame = table.features.assign(target=table.target.to_numpy(float))
        frame = frame[frame[attribute].notna()]
        frame = frame.iloc[np.random.default_rng(seed).permutation(len(frame))[:MOST_ROWS]].reset_index(drop=True)
        self.y = (frame["target"] > frame["target"].median()).to_numpy().astype(int)
        self.a = frame[[attribute]].astype(float)
        features = frame.drop(columns=["target", attribute])
        self.x = pd.DataFrame(NativeColumns.fit(features).transform(features)).fillna(-1.0).to_numpy()
        self.train, self.test = np.split(np.arange(len(frame)), [int(TRAINED * len(frame))])
        values = self.a.to_numpy()[:, 0]
        self.groups = {
            count: np.searchsorted(
                np.unique(np.quantile(values[self.train], np.linspace(0, 1, count + 1)[1:-1])), values, side="right"
            )
            for count in GROUPS
        }

    def measured(self, method, decision, probability=None, seconds=np.nan, budget=np.nan):
        """One row."""
        y, a = self.y[self.test], self.a.iloc[self.test]
        row = {"method": method, "accuracy": float((decision == y).mean()), "seconds": seconds, "budget": budget}
        for count, groups in self.groups.items():
            row[f"difference_{count}"] = demographic_parity_difference(
                y, decision, sensitive_features=groups[self.test]
            )
        constant = decision.min() == decision.max()
        row["decision_dpvar"] = (
            0.0 if constant else dpvar_interval(decision.astype(float), sensitive_features=a).estimate
        )
        if probability is not None:
            found = dpvar_interval(probability, sensitive_features=a)
            row |= {
                "log_loss": log_loss(y, probability.clip(1e-9, 1 - 1e-9)),
                "auc": roc_auc_score(y, probability),
                "dpvar": found.estimate,
                "low": found.low,
                "share": found.share,
            }
        return row


def plain(problem):
    """LightGBM as it comes, and ours without a penalty."""
    x, y, a, train, test = problem.x, problem.y, problem.a, problem.train, problem.test
    for name, model in (("lightgbm", lgb.LGBMClassifier(**BOOSTER)), ("weight 0", FairClassifier(0.0, random_state=0))):
        start = time.process_time()
        more = {} if name == "lightgbm" else {"sensitive_features": a.iloc[train]}
        p = model.fit(x[train], y[train], **more).predict_proba(x[test])[:, 1]
        yield problem.measured(name, p > 0.5, p, time.process_time() - start)


def front(problem):
    """Our path of boosters; one row per point, and one for a budget."""
    x, y, a, train, test = problem.x, problem.y, problem.a, problem.train, problem.test
    start = time.process_time()
    path = FairnessPath("boosting", random_state=0).fit(x[train], y[train], sensitive_features=a.iloc[train])
    seconds = time.process_time() - start
    for number in range(len(path.front_)):
        p = path.model(number).predict_proba(x[test])[:, 1]
        yield problem.measured("path", p > 0.5, p, seconds)
    if len(path.front_) > 1:
        budget = 0.3 * float(path.front_["dpvar"].iloc[-1])
        p = path.best(max_dpvar=budget).predict_proba(x[test])[:, 1]
        yield problem.measured("budget", p > 0.5, p, seconds, budget)


def relevelled(problem):
    """Our correction of a LightGBM classifier; half of the training rows are new to it."""
    x, y, a = problem.x, problem.y, problem.a
    seen, new = np.split(problem.train, [int(0.7 * len(problem.train))])
    start = time.process_time()
    model = lgb.LGBMClassifier(**BOOSTER).fit(x[seen], y[seen])
    found = relevel(model, x[new], sensitive_features=a.iloc[new], y=y[new], method="trees")
    for each in found.models():
        p = each.predict_proba(x[problem.test])[:, 1]
        yield problem.measured("relevel", p > 0.5, p, time.process_time() - start)


def reduction(problem):
    """fairlearn's reduction to a sequence of weighted problems."""
    x, y, train, test = problem.x, problem.y, problem.train, problem.test
    for count, groups in problem.groups.items():
        for bound in BOUNDS:
            start = time.process_time()
            model = ExponentiatedGradient(
                lgb.LGBMClassifier(**BOOSTER), DemographicParity(difference_bound=bound), max_iter=25
            ).fit(x[train], y[train], sensitive_features=groups[train])
            decision = model.predict(x[test], random_state=0)
            yield problem.measured(f"reduction, {count} groups", decision, None, time.process_time() - start, bound)


def thresholds(problem):
    """fairlearn's thresholds by group, which need the group to predict."""
    x, y, train, test = problem.x, problem.y, problem.train, problem.test
    for count, groups in problem.groups.items():
        start = time.process_time()
        model = ThresholdOptimizer(
            estimator=lgb.LGBMClassifier(**BOOSTER), constraints="demographic_parity", predict_method="predict_proba"
        ).fit(x[train], y[train], sensitive_features=groups[train])
        decision = model.predict(x[test], sensitive_features=groups[test], random_state=0)
        yield problem.measured(f"thresholds, {count} groups", decision, None, time.process_time() - start)


def adversarial(problem):
    """fairlearn's adversarial classifier, which takes A as it is."""
    x, y, train, test = problem.x, problem.y, problem.train, problem.test
    standard = (x - x[train].mean(axis=0)) / (x[train].std(axis=0) + 1e-9)
    attribute = problem.a.to_numpy()
    attribute = (attribute - attribute[train].mean()) / attribute[train].std()
    for alpha in (1.0, 10.0):
        start = time.process_time()
        model = AdversarialFairnessClassifier(
            backend="torch",
            predictor_model=[64, "relu"],
            adversary_model=[32, "relu"],
            alpha=alpha,
            epochs=40,
            batch_size=128,
            random_state=0,
        ).fit(standard[train], y[train], sensitive_features=attribute[train])
        decision = np.asarray(model.predict(standard[test])).astype(int)
        yield problem.measured("adversarial", decision, None, time.process_time() - start, alpha)


def rows_of(data_dir: Path, name: str, seed: int) -> list[dict[str, Any]]:
    """The rows of one table and seed, of all models."""
    problem, rows = Problem(resolve_source(data_dir), name, seed), []
    for run in (plain, front, relevelled, reduction, thresholds, adversarial):
        try:
            rows += list(run(problem))
        except Exception as error:  # a peer that fails is a result, too
            rows.append({"method": run.__name__, "error": f"{type(error).__name__}: {error}"[:200]})
    return [{"version": __version__, "commit": commit(), **row} for row in rows]


def main(
    data_dir: Annotated[Path, typer.Option(help="Folder with the tables.")],
    out: Annotated[Path, typer.Option(help="Parquet file for the rows.")],
    seeds: Annotated[int, typer.Option(help="Number of seeds.")] = 3,
    only: Annotated[str, typer.Option(help="Tables, comma-separated; all of them by default.")] = "",
    processes: Annotated[int, typer.Option(help="How many tables at once.")] = 1,
) -> None:
    """Run all tables and seeds; rows are written after each, and those that are there are kept."""
    tables = only.split(",") if only else ATTRIBUTES
    tasks = [((name, seed), partial(rows_of, data_dir, name, seed)) for seed in range(seeds) for name in tables]
    run_tasks(tasks, ("table", "seed"), out, processes)


if __name__ == "__main__":
    typer.run(main)
