"""Audits of predictions: how they differ across sensitive attributes."""
