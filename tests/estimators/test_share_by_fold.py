"""Budgets on shares are judged fold by fold."""

import numpy as np
import pytest

from fairlevel import FairnessPath
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.fronts import evaluation
from fairlevel.fronts.budget import SHARE, Budget
from fairlevel.fronts.combiners import Best
from fairlevel.fronts.evaluation import Evaluation, Points
from fairlevel.metrics.evaluator import DPVarEvaluator


def corrected(prediction, group, fold):
    """The prediction less the group means of the other folds: level on the rows that set them."""
    result = np.empty_like(prediction)
    for number in np.unique(fold):
        inside = fold == number
        for each in np.unique(group):
            result[inside & (group == each)] = prediction[inside & (group == each)]
            result[inside & (group == each)] -= prediction[~inside & (group == each)].mean()
    return result


def test_what_chance_leaves_in_each_fold_is_seen(monkeypatch):
    """Means of six groups on 600 of 900 rows have variance 1/100, and around their mean 5/6 of it: that is the share of
    a model that was corrected by them, on new rows. Folds together cancel: they show less than nothing.
    """
    pooled, by_fold = [], []
    for seed in range(40):
        random = np.random.default_rng(seed)
        group, fold = np.arange(900) % 6, np.arange(900) // 6 % 3
        unseen = corrected(random.standard_normal(900), group, fold)[None]
        attributes = Attributes(np.eye(6)[group])
        judged = Evaluation.of(unseen, random.standard_normal(900), attributes, fold, Best(), seed)
        monkeypatch.setattr(evaluation, "SHARE_MARGIN", 0.0)
        together = DPVarEvaluator(attributes, seed).evidence(unseen)
        points = Points([Budget(SHARE, 0.1)], unseen, together)
        found = judged.calibration(points)
        by_fold.append(_mean_share(unseen, judged))
        assert found.measured[0] == pytest.approx(max(by_fold[-1], 0))
        monkeypatch.undo()
        assert judged.calibration(points).measured[0] > found.measured[0]
        pooled.append(together[0].estimate)
    truth = 5 / 6 / 100
    assert np.mean(by_fold) == pytest.approx(truth, abs=3 * np.std(by_fold) / np.sqrt(40))
    assert np.mean(pooled) < 0


def _mean_share(unseen, judged):
    """The estimate within a calibration, without its margin."""
    rows = [np.flatnonzero(judged.fold == number) for number in range(3)]
    parts = [DPVarEvaluator(judged.attributes.take(own), 0).evidence(unseen[:, own])[0] for own in rows]
    return sum(each.estimate * each.variance for each in parts) / sum(each.variance for each in parts)


def test_budgets_on_shares_hold_across_many_codes():
    """Fifty regions as numbers, eight rows of each per fold: the unlevelled model, with a share of .2, was returned."""
    region_effect = 0.7 * np.random.default_rng(5).standard_normal(50)

    def drawn(rows, seed):
        random = np.random.default_rng(seed)
        region = random.integers(0, 50, rows)
        x = np.column_stack([region_effect[region] + random.normal(0, 0.5, rows), random.standard_normal(rows)])
        return x, x[:, 1] + 1.5 * region_effect[region] + random.normal(0, 0.5, rows), region

    x, y, region = drawn(2000, 0)
    path = FairnessPath("spectral", predictor="linear", random_state=0).fit(x, y, sensitive_features=region)
    new, _, region = drawn(30_000, 1)
    prediction = path.best(max_share=0.1).predict(new)
    means = np.bincount(region, prediction) / np.bincount(region)
    assert means[region].var() / prediction.var() < 0.12
