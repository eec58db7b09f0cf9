"""Tables, encoding, splitting, scaling, and the synthetic design.

Files, in an order to read them:

- ``numbers.py``, ``features.py``: what is refused of arrays, and of frames of any library
- ``columns.py``, ``dates.py``: what a column of a table holds
- ``table_rules.py``, ``encoder.py``: from columns to numbers, by learnt rules
- ``native_columns.py``: categories as whole numbers, and back to a frame as it was written
- ``sensitive.py``: sensitive attributes as a matrix
- ``table.py``, ``splitting.py``, ``scaling.py``: what every fit starts from
- ``stored_rows.py``: files that do not fit into memory: a sample and counts
- ``learning_table.py``, ``whole_files.py``: tables and files of the command line
- ``synthetic.py``: the paper's synthetic design
"""
