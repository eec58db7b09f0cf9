"""Audits without the figures beside DPVar, which have tests of their own."""

import pandas as pd


def without_side_figures(monkeypatch):
    audit = "fairlevel.auditing.audit."

    def shares(prediction, attributes, columns, seed):
        return pd.DataFrame({"attribute": [column.name for column in columns], "alone": 0.0, "lost": 0.0})

    monkeypatch.setattr(audit + "attribute_shares", shares)
    monkeypatch.setattr(audit + "measure_dependence", lambda *rows: ())
    monkeypatch.setattr(audit + "attribute_profiles", lambda *rows: {})
    monkeypatch.setattr(audit + "worst_profiles", lambda *rows: pd.DataFrame())
    monkeypatch.setattr(audit + "find_flags", lambda *figures: ())
