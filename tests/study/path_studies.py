"""Figures behind docs/results/path.md: spectral against trained, stacked against single, budgets on fresh rows.

python -m tests.study.path_studies spectral|stacked|mixing|budgets
"""

import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from fairlevel import ClosedFBO, FairnessPath, dpvar_interval
from fairlevel.candidates import PATH_LIMITS, SOURCES, Head, PenaltyGrid, SpectralPath, TrainingSetup
from fairlevel.candidates.protocol import CandidateRows
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.scaling import Scaler
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.estimators.settings import NO_LIMITS
from fairlevel.fronts.budget import DPVAR, Budget
from fairlevel.fronts.combiners import Best, Stacked
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.metrics.mixtures import most_accurate, shared_mean
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import GDP, LinearR2, RootFBO
from fairlevel.training.rows import AllRows, TrainingRows
from fairlevel_study.points import best_mse

DATA = Path(os.environ.get("FAIRLEVEL_DATA_DIR", "../shared/data"))
SHARES = (0.1, 0.25, 0.5)
SPECTRAL = SpectralPath(
    (0.0, *np.geomspace(0.03, 3000, 23).round(4).tolist()), tuple(map(Head, (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)))
)
WORKERS = int(os.environ.get("WORKERS", os.cpu_count() or 1))


def quiet(share):
    pass


def train(source, training, early, seed, limits=NO_LIMITS):
    """Candidates of a source at the step size .01 of Adam, stopped early."""
    setup = TrainingSetup(MLP(), Adam(0.01, steps=600), seed, "cpu", rate_scale=0.1)
    return source.train(CandidateRows(AllRows(training), early), setup, limits, quiet)


def parts_of(x, y, a, seed):
    """Standardised train, early stopping, selection and test rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    ends = (np.array([0.5, 0.6, 0.8]) * len(y)).astype(int)
    index = np.split(order, ends)
    both = np.concatenate(index[:2])
    scalers = [Scaler.fit(each[both], clip=clip) for each, clip in ((x, 5.0), (y, np.inf), (a, 5.0))]
    scale = [scaler.transform for scaler in scalers]
    return [TrainingRows(scale[0](x[i]), scale[1](y[i]), Attributes(scale[2](a[i]))) for i in index], scalers


def judged(candidates, rows, combiner, seed=0):
    predictions, a = candidates.predict(rows.x), rows.attributes
    mean = shared_mean(most_accurate(predictions, rows.y, a.weight), a, seed)
    return combiner.over(predictions, rows.y, a.weight, mean.disparity(predictions, a, seed))


def spectral_case(beta, seed):
    """Spectral path and a trained grid of twelve weights, both by true DPVar and test MSE, and their times."""
    torch.set_num_threads(2)
    design = SyntheticDesign(beta_int=beta, attributes=8)
    drawn = design.sample(3000, seed)
    (training, early, selection, test), scalers = parts_of(drawn.x, drawn.y, drawn.a, seed)
    started = time.perf_counter()
    grid = train(PenaltyGrid.over(ClosedFBO()), training, early, seed)
    grid_time = time.perf_counter() - started
    started = time.perf_counter()
    train(PenaltyGrid.over(ClosedFBO(), (0.0, 5.0)), training, early, seed)
    body_time = time.perf_counter() - started
    started = time.perf_counter()
    spectral = train(SPECTRAL, training, early, seed)
    head_time = time.perf_counter() - started - body_time
    row = {"beta": beta, "seed": seed, "heads": head_time / grid_time, "all": (body_time + head_time) / grid_time}
    truth = {}
    for name, candidates in {"grid": grid, "spectral": spectral}.items():
        mse = ((candidates.predict(test.x) - test.y) ** 2).mean(axis=1)
        dpvar = design.true_dpvar(lambda x, candidates=candidates: candidates.predict(scalers[0].transform(x))).value
        on_selection = ((candidates.predict(selection.x) - selection.y) ** 2).mean(axis=1)
        truth[name] = (mse, dpvar, on_selection)
    plain = truth["grid"][1][0]
    for share in SHARES:
        for name, (mse, dpvar, on_selection) in truth.items():
            allowed = np.where(dpvar <= share * plain, on_selection, np.inf)
            row[f"{name} {share:g}"] = mse[allowed.argmin()] if np.isfinite(allowed).any() else np.nan
    return row


def tables(names=("abalone", "concrete", "wind", "space_ga", "pol", "elevators"), rows=4000):
    """(name, x, y, a) of some tables, at most 4000 rows, A the top quarter of columns by |corr| with y."""
    for name in names:
        manifest = pd.read_csv(DATA / "MANIFEST.csv").set_index("slug")
        frame = pd.read_parquet(DATA / f"{name}.parquet")
        target = manifest.loc[name, "target"]
        frame = pd.get_dummies(frame.dropna(), dtype=float)
        frame = frame.sample(min(rows, len(frame)), random_state=0)
        y, x = frame.pop(target).to_numpy(float), frame.loc[:, frame.nunique() > 1]
        strength = x.corrwith(pd.Series(y, index=x.index)).abs().sort_values(ascending=False)
        chosen = strength.index[: max(1, round(0.25 * len(strength)))]
        yield name, x.drop(columns=chosen).to_numpy(float), y, x[chosen].to_numpy(float)


def stacked_case(name, x, y, a, seed, true_dpvar=None):
    """Stacked and single choice from the same candidates, both made on the same selection rows at 30 budgets.

    MSE is measured on the test rows; DPVar is the true one where the design is known, else
    debiased on test rows. Entries:
    best MSE within 25, 50, 75 % of the DPVar of the plain network.
    """
    torch.set_num_threads(1)
    (training, early, selection, test), scalers = parts_of(x, y, a, seed)
    candidates = train(SOURCES["auto"], training, early, seed, PATH_LIMITS)

    def on_test(proportions):
        mse = ((proportions @ candidates.predict(test.x) - test.y) ** 2).mean(axis=1)
        if true_dpvar is None:
            return mse, dpvar_of_many(proportions @ candidates.predict(test.x), test.attributes.values)
        return mse, true_dpvar(lambda fresh: proportions @ candidates.predict(scalers[0].transform(fresh))).value

    plain = on_test(np.eye(len(candidates))[:1])[1][0]
    row = {"case": name, "seed": seed}
    for label, combiner in (("best", Best()), ("stacked", Stacked())):
        choosing = judged(candidates, selection, combiner)
        budgets = np.linspace(choosing.smallest(DPVAR) ** 0.5 * 1.001, choosing.most_accurate.dpvar**0.5, 30) ** 2
        mse, dpvar = on_test(np.stack([choosing.within(Budget(DPVAR, budget)).proportions for budget in budgets]))
        row |= {
            f"{label} {share}": best_mse(pd.DataFrame({"mse": mse, "dpvar": dpvar}), [share * plain])[0]
            for share in (0.25, 0.5, 0.75)
        }
    return [row]


def stacked_cases():
    for rows in (2000, 4000):
        for beta in (1.0, 10.0):
            for seed in range(3):
                drawn = SyntheticDesign(beta_int=beta).sample(rows, seed)
                design = SyntheticDesign(beta_int=beta)
                yield f"synthetic n={rows} beta={beta:g}", drawn.x, drawn.y, drawn.a, seed, design.true_dpvar
    for name, x, y, a in tables():
        yield name, x, y, a, 0, None


ROOT_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0)
MIXING_TABLES = ("cpu_act", "miami_housing", "grid_stability", "skillcraft", "fifa20", "sulfur", "qsar_fish_toxicity")


def mixing_case(name, x, y, a, seed):
    """Each family alone, twelve candidates, stacked: best MSE within 25, 50, 75 % of the plain DPVar on test rows, and
    how its candidates lie: the largest gap along √DPVar and the mean correlation of their errors.
    """
    torch.set_num_threads(1)
    (training, early, selection, test), _ = parts_of(x, y, a, seed)
    families = {
        "fbo_closed": PenaltyGrid.over(ClosedFBO()),
        "gdp": PenaltyGrid.over(GDP(), (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0, 5.0, 8.0, 12.0, 20.0)),
        "fbo_root": PenaltyGrid.over(RootFBO(), ROOT_WEIGHTS),
        "r2": PenaltyGrid.over(LinearR2(), (0.0, 0.03, 0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0)),
        "spectral": SpectralPath((0.0, 1.0, 10.0, 100.0), tuple(map(Head, (1e-5, 1e-4, 1e-3)))),
    }
    sets = {label: train(solver, training, early, seed) for label, solver in families.items()}
    sets |= {
        "6 closed, 6 spectral": _some_of(sets, {"fbo_closed": 6, "spectral": 6}),
        "6 gdp, 6 spectral": _some_of(sets, {"gdp": 6, "spectral": 6}),
        "6 root, 6 spectral": _some_of(sets, {"fbo_root": 6, "spectral": 6}),
        "4 root, 4 gdp, 4 spectral": _some_of(sets, {"fbo_root": 4, "gdp": 4, "spectral": 4}),
        "3 each of closed, gdp, r2, spectral": _some_of(sets, {"fbo_closed": 3, "gdp": 3, "r2": 3, "spectral": 3}),
        "3 each of closed, root, gdp, spectral": _some_of(
            sets, {"fbo_closed": 3, "fbo_root": 3, "gdp": 3, "spectral": 3}
        ),
    }
    rows, plain = [], None
    for label, candidates in sets.items():
        on_test = candidates.predict(test.x)
        own = np.maximum(dpvar_of_many(on_test, test.attributes.values), 0)
        plain = own[0] if plain is None else plain
        choosing = judged(candidates, selection, Stacked())
        budgets = np.linspace(choosing.smallest(DPVAR) ** 0.5 * 1.001, choosing.most_accurate.dpvar**0.5, 30) ** 2
        proportions = np.stack([choosing.within(Budget(DPVAR, budget)).proportions for budget in budgets])
        front = pd.DataFrame({"mse": ((proportions @ on_test - test.y) ** 2).mean(axis=1)})
        front["dpvar"] = dpvar_of_many(proportions @ on_test, test.attributes.values)
        roots = np.sort(np.sqrt(np.clip(own / plain, 0, 1)))
        errors = np.corrcoef(on_test - test.y)
        row = {"table": name, "seed": seed, "family": label, "gap": float(np.diff(np.r_[0, roots, 1]).max())}
        row["correlation"] = float(errors[np.triu_indices(len(errors), 1)].mean())
        row |= dict(zip(("tight", "mid", "loose"), best_mse(front, np.array([0.25, 0.5, 0.75]) * plain), strict=True))
        rows.append(row)
    return rows


def _some_of(sets, counts):
    """Candidates evenly spread over the grid of each family, twelve in all."""
    parts = [
        sets[name].only(np.linspace(0, len(sets[name]) - 1, count).round().astype(int))
        for name, count in counts.items()
    ]
    return reduce(lambda first, second: first.joined(second), parts)


def fair_tables():
    x, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    yield "diabetes", x.drop(columns=["age", "bmi"]), y, x[["age", "bmi"]]
    frame = pd.read_parquet(DATA / "communities_crime.parquet")
    races = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]
    target = frame.pop("ViolentCrimesPerPop")
    numeric = frame.select_dtypes("number")
    numeric = numeric.loc[:, numeric.isna().mean() < 0.5]
    numeric = numeric.fillna(numeric.median())
    yield "communities_crime", numeric.drop(columns=races), target, numeric[races]


def budget_case(name, x, y, a, split):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    parts = train_test_split(x, y, a, test_size=0.35, random_state=split)
    x_train, x_test, y_train, y_test, a_train, a_test = parts
    path = FairnessPath(random_state=split, device="cpu").fit(x_train, y_train, sensitive_features=a_train)
    plain = path.front_["dpvar"].iloc[-1]
    rows = []
    for share in SHARES:
        try:
            model = path.best(max_dpvar=share * plain)
        except ValueError as error:
            rows.append({"table": name, "split": split, "share": share, "error": str(error)})
            continue
        prediction = model.predict(x_test)
        found = dpvar_interval(prediction, sensitive_features=a_test)
        rows.append(
            {
                "table": name,
                "split": split,
                "share": share,
                "ratio": found.estimate / (share * plain),
                "above": found.low > share * plain,
                "mse": float(np.mean((prediction - y_test) ** 2) / np.var(y_test)),
            }
        )
    return rows


def run(function, cases, workers):
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(function, *zip(*cases, strict=True)):
            yield from found


if __name__ == "__main__":
    study = sys.argv[1]
    if study == "spectral":
        found = pd.DataFrame([spectral_case(beta, seed) for beta in (1.0, 10.0) for seed in range(3)])
        print(found.groupby("beta").median().round(4).T.to_string())
    elif study == "stacked":
        found = pd.DataFrame(run(stacked_case, list(stacked_cases()), WORKERS))
        for share in (0.25, 0.5, 0.75):
            found[f"ratio {share}"] = found[f"stacked {share}"] / found[f"best {share}"]
        print(found.filter(regex="case|seed|ratio").round(3).to_string(index=False))
        told = found.filter(regex="ratio").stack().dropna()
        print(f"lower in {(told < 1).mean():.0%} of {len(told)}, largest {told.max():.3f}, median {told.median():.3f}")
    elif study == "mixing":
        cases = [(*each, seed) for seed in (0, 1) for each in tables(MIXING_TABLES, rows=2000)]
        found = pd.DataFrame(run(mixing_case, cases, WORKERS))
        for budget in ("tight", "mid", "loose"):
            reached = found[budget].fillna(1.0)
            found[f"regret {budget}"] = reached - reached.groupby([found["table"], found["seed"]]).transform("min")
        print(found.groupby("family").mean(numeric_only=True).round(3).to_string())
        print(found.pivot_table(index="table", columns="family", values="tight").round(3).to_string())
    elif study == "budgets":
        cases = [(*each, split) for each in fair_tables() for split in range(20)]
        found = pd.DataFrame(run(budget_case, cases, WORKERS))
        print(found.groupby(["table", "share"]).agg({"ratio": ["median", "count"], "above": "mean", "mse": "median"}))
        if "error" in found:
            print(found["error"].dropna().to_string())
