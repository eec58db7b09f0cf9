"""Systems of the paper's map that are no penalties; ``methods.py`` has a row for each."""
