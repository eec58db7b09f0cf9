"""From what users hand in to numbers, the refusals that protect them, and splits, scaling and the synthetic design.

Files, in an order to read them:

- ``features.py``, ``numbers.py``: any table as a frame of pandas; what is refused of frames and of arrays
- ``columns.py``, ``dates.py``: what a column holds, and how it is read
- ``table_rules.py``, ``encoder.py``: from columns to numbers for any model, by learnt rules
- ``native_columns.py``: columns for models that read categories and gaps, and back to a frame as it was written
- ``sensitive.py``: sensitive attributes as a matrix
- ``table.py``, ``splitting.py``, ``scaling.py``: what every fit starts from
- ``learning_table.py``, ``stored_rows.py``: roles of columns, one rule for gaps; files that do not fit into memory
- ``whole_files.py``: files that appear whole or not at all
- ``synthetic.py``: the paper's synthetic design
"""
