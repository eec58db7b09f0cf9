"""Audits of predictions whose dependence on A is known."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from fairlevel import audit
from fairlevel.auditing.page import audit_page
from fairlevel.auditing.tables import attribute_shares, group_table, read_groups
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.sensitive import GivenColumn
from fairlevel.exceptions import InvalidInput
from fairlevel.report.render import render

ROWS = 700


@pytest.fixture(scope="module")
def drawn():
    random = np.random.default_rng(0)
    attributes = pd.DataFrame({"age": random.standard_normal(ROWS), "<b>town</b>": random.choice(["n", "s"], ROWS)})
    return attributes, random.standard_normal(ROWS)


@pytest.fixture(scope="module")
def audits(drawn):
    attributes, z = drawn
    a = attributes["age"].to_numpy()
    shuffled = np.random.default_rng(1).permutation(a + z)
    cases = {"dependent spread": a * z, "curved": a**2, "shuffled": shuffled, "linear": a + z}
    return {name: audit(f, sensitive_features=attributes, y_true=f + z) for name, f in cases.items()}


def flags(found):
    return {flag.name for flag in found.flags}


def test_level_average_with_dependent_spread_is_flagged(audits):
    found = audits["dependent spread"]
    assert found.interval.p_value > 0.05
    assert "dependent_spread" in flags(found)
    measures = {measure.name: measure for measure in found.measures}
    assert measures["maximal correlation"].found
    assert measures["HSIC"].found
    assert measures["linear R²"].value < 0.01


def test_a_curve_is_seen_by_dpvar_and_not_by_a_line(audits):
    found = audits["curved"]
    assert found.interval.low < 2 < found.interval.high + 0.3
    assert found.interval.share > 0.9
    assert flags(found) == {"curved"}
    assert found.moves_by == pytest.approx(np.sqrt(2), rel=0.1)


def test_shuffled_predictions_are_level(audits):
    found = audits["shuffled"]
    assert found.interval.share_low == 0
    assert not flags(found)


def test_nothing_to_flag_in_an_ordinary_disparity(audits):
    assert not flags(audits["linear"])
    assert "moves by ±" in str(audits["linear"])
    assert "No difference" in str(audits["shuffled"])


def test_attributes_are_plain_apart(audits):
    table = audits["linear"].attributes.set_index("attribute")
    assert table.loc["age", "alone"] == pytest.approx(0.5, abs=0.07)
    assert table.loc["age", "lost"] == pytest.approx(0.5, abs=0.07)
    assert table.loc["<b>town</b>", "alone"] < 0.02


def test_twins_share_and_lose_nothing():
    random = np.random.default_rng(0)
    a = random.standard_normal(800)
    twins = np.column_stack([a, a + 0.01 * random.standard_normal(800)])
    columns = [GivenColumn("one", (0,)), GivenColumn("two", (1,))]
    table = attribute_shares(a + random.standard_normal(800), Attributes(twins), columns, 0)
    assert (table["alone"] > 0.4).all()
    assert (table["lost"] < 0.05).all()


def test_groups_by_hand():
    table = group_table(
        ["a", "b", "a"], np.array([1.0, 5.0, 3.0]), np.array([1.0, 1.0, 3.0]), np.array([1.0, 4.0, 1.0])
    )
    assert table["mean"].tolist() == [2.5, 5.0]
    assert table["sd"].tolist() == pytest.approx([np.sqrt(0.75), 0.0])
    assert table["MSE"].tolist() == [3.0, 1.0]
    fifths = group_table(np.arange(100.0), np.arange(100.0), np.ones(100))
    assert fifths["rows"].tolist() == [20] * 5
    assert fifths["group"].iloc[0] == "0 to 19.8"
    tiny = group_table(1e-320 * np.arange(1, 101), np.arange(100.0), np.ones(100))  # no digits are left there
    assert tiny["rows"].sum() == 100
    gaps = group_table(np.where(np.arange(100) < 3, np.nan, np.arange(100.0)), np.arange(100.0), np.ones(100))
    assert gaps["group"].iloc[-1] == "(missing)"
    assert gaps["rows"].iloc[-1] == 3


def test_integer_weights_of_groups_are_repeated_rows():
    random = np.random.default_rng(0)
    group, f, weight = random.integers(0, 3, 200), random.normal(size=200), random.integers(1, 5, 200)
    rows = np.repeat(np.arange(200), weight)
    found = group_table(group, f, weight.astype(float))
    for number in range(3):
        own = f[rows][group[rows] == number]
        row = found.iloc[number]
        low, high = np.quantile(own, [0.1, 0.9], method="inverted_cdf")
        np.testing.assert_allclose([row["10 %"], row["90 %"]], [low, high])
        np.testing.assert_allclose([row["mean"], row["sd"]], [own.mean(), own.std()])


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        (np.where(np.arange(60) < 3, np.inf, np.arange(60.0)), r"by holds 3 numbers beyond ±1e\+150"),
        (np.ones((60, 2)), r"shape \(60, 2\); one column"),
        (np.full(60, 1j), "complex"),
        (np.ones(59), "by has 59 rows"),
    ],
)
def test_groups_that_are_no_column_are_refused(by, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        audit(np.arange(60.0), sensitive_features=np.arange(60.0), by=by)


def test_one_column_as_a_matrix_is_a_column():
    assert read_groups(np.ones((3, 1))).tolist() == [1, 1, 1]


def test_a_budget_has_three_answers(audits):
    found = audits["linear"]
    low, share, high = found.interval.share_low, found.interval.share, found.interval.share_high
    budgets = {high: "pass", 0.99 * high: "cannot tell", low: "cannot tell", 0.99 * low: "fail"}
    for most, outcome in budgets.items():
        (verdict,) = found.check(max_share=most)
        assert (verdict.outcome, verdict.passed) == (outcome, outcome == "pass")
        assert verdict.to_dict()["outcome"] == outcome
    (verdict,) = found.check(max_share=(share + high) / 2)  # half of the width: a quarter of its square
    assert verdict.rows_needed == pytest.approx(4 * found.rows, rel=0.1)
    assert verdict.to_dict()["rows_needed"] == verdict.rows_needed
    (verdict,) = found.check(max_share=share)
    assert (verdict.outcome, verdict.rows_needed) == ("cannot tell", None)
    page = audit_page(found, found.check(max_share=(share + high) / 2))
    assert page.headlines[0].tone == "notice"
    assert "rows such as these" in page.headlines[0].sentence
    assert "may be met or not" in page.summary


def test_budgets_that_are_none_of_a_share(audits):
    found = audits["linear"]
    assert found.check() == ()
    with pytest.raises(InvalidInput, match="max_share=2"):
        found.check(max_share=2)


def test_survey_weights_and_rows_of_weight_zero(drawn):
    attributes, z = drawn
    f = attributes["age"].to_numpy() + z
    weight = np.r_[np.ones(400), np.zeros(300)]
    whole = audit(f, sensitive_features=attributes, sample_weight=weight, y_true=f)
    part = audit(f[:400], sensitive_features=attributes[:400], y_true=f[:400])
    assert whole.interval == part.interval
    assert whole.rows == 400
    pd.testing.assert_frame_equal(whole.groups["<b>town</b>"], part.groups["<b>town</b>"])


def test_many_rows_say_how_many_the_side_figures_use(monkeypatch):
    monkeypatch.setattr("fairlevel.auditing.audit.SIDE_ROWS", 400)  # of 10,000
    random = np.random.default_rng(0)
    a = random.standard_normal((500, 1))
    found = audit(a[:, 0] + random.standard_normal(len(a)), sensitive_features=a)
    assert (found.rows, found.side_rows) == (500, 400)
    assert any("drawn at random" in text for part in audit_page(found).sections for text in part.paragraphs)


def test_dictionary_and_page(audits, tmp_path):
    found = audits["linear"]
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["dpvar"]["estimate"] == found.interval.estimate
    assert plain["accuracy"]["mse"] == pytest.approx(1, abs=0.1)
    found.to_html(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    assert "<b>town" not in page
    assert "&lt;b&gt;town" in page
    assert render(audit_page(found, found.check(max_share=0.9))).count('<td class="words">pass</td>') == 1


def test_the_verdict_comes_first_and_nothing_contradicts_it(audits):
    found = audits["linear"]
    failed, passed = (audit_page(found, found.check(max_share=most)) for most in (0.1, 0.9))
    assert (failed.headlines[0].tone, passed.headlines[0].tone) == ("bad", "good")
    assert f"{100 * found.interval.share_high:.1f}" in failed.headlines[0].sentence
    assert "10.0" in failed.headlines[0].sentence
    assert "Nothing unusual." not in render(failed)
    assert "not met" in failed.summary
    unjudged = audit_page(found)
    assert unjudged.headlines[0].tone == "notice"
    assert "Nothing unusual." not in render(unjudged)
    level = audit_page(audits["shuffled"])
    assert level.headlines[0].tone == "good"
    assert "No difference" in level.headlines[0].word


def test_a_p_value_at_its_floor_is_an_upper_limit(audits):
    found = audits["linear"]
    assert found.interval.p_value < 1e-30
    text = render(audit_page(found)).replace("\N{NO-BREAK SPACE}", " ")
    assert "p &lt; .0001" in text
    assert "p < .0001" in str(found).replace("\N{NO-BREAK SPACE}", " ")


def test_few_rows_without_a_finding_are_no_proof():
    random = np.random.default_rng(3)
    found = audit(random.standard_normal(40), sensitive_features=random.standard_normal((40, 3)))
    assert found.interval.p_value > 0.05
    assert found.interval.share_high > 0.1
    assert audit_page(found).headlines[0].tone == "notice"


def test_probabilities_show_how_well_they_fit_rank_and_decide(drawn):
    attributes, z = drawn
    probability = 1 / (1 + np.exp(-z))
    y = (np.random.default_rng(5).uniform(size=ROWS) < probability).astype(float)
    found = audit(probability, sensitive_features=attributes, y_true=y, threshold=0.6)
    assert found.accuracy["log_loss"] == pytest.approx(log_loss(y, probability))
    assert found.accuracy["auc"] == pytest.approx(roc_auc_score(y, probability))
    assert found.accuracy["brier"] == pytest.approx(brier_score_loss(y, probability))
    assert found.accuracy["accuracy"] == pytest.approx(np.mean((probability >= 0.6) == y))
    assert found.reliability.error < 0.06
    page = render(audit_page(found))
    assert all(name in page for name in ("log-loss", "AUC", "Brier score", "accuracy", "Reliability"))
    json.dumps(found.to_dict())
    assert "log_loss" not in audit(probability, sensitive_features=attributes, y_true=y + z).accuracy


def test_categories_have_profiles_with_their_averages(audits, drawn):
    attributes, z = drawn
    profile = audits["linear"].profiles["<b>town</b>"]
    values = attributes["age"] + z
    expected = values.groupby(attributes["<b>town</b>"]).mean()
    assert profile.levels == ("n", "s")
    np.testing.assert_allclose(profile.mean, expected, rtol=1e-10)
    assert [text.get_text() for text in audits["linear"].plot("<b>town</b>").ax_.get_xticklabels()] == ["n", "s"]


def test_plot_takes_the_attribute_along_which_the_average_moves_most(audits):
    display = audits["linear"].plot()
    assert display.ax_.get_xlabel() == "age"
    with pytest.raises(InvalidInput, match="has no profile"):
        audits["linear"].plot("town")


def test_whole_numbers_have_no_decimals_and_groups_are_in_order():
    """A file of floats gave the groups 0.0, 1.0, 10.0, 2.0 and worst profiles of 1.00 child."""
    random = np.random.default_rng(0)
    children = random.permutation(np.arange(360) % 12).astype(float)
    prediction = children + random.standard_normal(360)
    found = audit(prediction, sensitive_features=pd.DataFrame({"children": children}))
    assert found.groups["children"]["group"].tolist() == [str(number) for number in range(12)]
    page = audit_page(found, found.check(max_share=0.05))
    tables = {block.title: block for section in page.sections for block in section.blocks if hasattr(block, "header")}
    assert {row[0] for row in tables["Worst profiles"].rows} <= {str(number) for number in range(12)}
    (budget,) = tables["Budgets"].rows
    assert budget[0] == "share of the prediction's variance"
    assert budget[1] == "5.0\N{NO-BREAK SPACE}%"
    assert budget[4] == "fail"


def test_bad_input(drawn):
    attributes, z = drawn
    with pytest.raises(InvalidInput, match="y_true has 3 rows"):
        audit(z, sensitive_features=attributes, y_true=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="at least 2 rows"):
        audit([1.0], sensitive_features=[1.0])


def test_categories_that_leave_the_upper_limit_open_are_named():
    """One row without a category: the audit said "at most 100.0 %", and no more."""
    random = np.random.default_rng(1)
    town = pd.DataFrame({"town": np.append(random.choice(["north", "south"], 299), None), "age": 1.0})
    prediction = np.append(random.standard_normal(299), 3.0)
    found = audit(prediction, sensitive_features=town)
    assert found.interval.share_high == 1
    (sentence,) = [flag.sentence for flag in found.flags if flag.name == "rare_categories"]
    assert "fewer than 5 rows, town = (missing) (1). Merge them" in sentence
    assert "rare_categories" not in flags(audit(prediction[:-1], sensitive_features=town[:-1]))


def test_what_is_gone_says_what_to_use(audits):
    with pytest.raises(AttributeError, match=r"Audit\.plug_in is gone since version 0\.3: dpvar\(.*method='paper'\)"):
        audits["linear"].plug_in  # noqa: B018
    assert not hasattr(audits["linear"], "nothing")
