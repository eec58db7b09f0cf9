"""Tables, encoding, splitting, scaling, and the synthetic design.

Files, in an order to read them:

- ``numbers.py``, ``decimals.py``, ``features.py``, ``weights.py``, ``row_order.py``: what is refused of arrays
- ``sensitive.py``: sensitive attributes as a matrix
- ``columns.py``, ``dates.py``: what a column of a table holds
- ``column_rules.py``, ``table_rules.py``, ``encoder.py``, ``encoding.py``: from columns to numbers, by learnt rules
- ``native_columns.py``, ``frames.py``: categories as whole numbers, and back to the columns that were given
- ``table.py``, ``splitting.py``, ``scaling.py``: what every fit starts from
- ``stored_rows.py``, ``row_sample.py``: files that do not fit into memory
- ``learning_table.py``, ``whole_files.py``: tables and files of the command line
- ``synthetic.py``: the paper's synthetic design
"""
