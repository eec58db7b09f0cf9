"""Analyse the rows of a study: which method wins within which budget, by how much, and with what uncertainty."""
