"""Functions of cells. A cell is a profile of discrete attributes, and each cell may have an average of its own.

There may be nearly as many cells as rows. A column per cell, and a decomposition of all of them, would cost too much.
No row has two cells. Two facts follow, and the files here use them: indicators of cells are orthogonal, and a product
with them is a sum over the rows of each cell.

Words, with W the row weights:

- *indicators* Z, (row, cell), and the *weight* p of each cell, the sum over its rows: ZᵀWZ = diag(p)
- *scaled indicators* E = Z diag(p)^(−1/2), which are orthonormal: EᵀWE = I
- *other functions* Y: functions that are no indicators, such as the constant and functions of L; Y has few columns
- *shared functions* EU, where U is orthonormal and spans EᵀWY: all that functions of cells have in common with Y. They
  are at most as many as Y has columns, and are columns of the basis
- *own functions* Ex, with all orthonormal x orthogonal to U. They are orthogonal to Y and to the shared functions. They
  are many and never written out: the cells and the shared functions determine what is asked of them

Files, in an order to read them:

- ``discrete_columns.py``: which columns of A are discrete, and which cells they form
- ``membership.py``: the cell of each row; functions of the cell at rows, and sums over the rows of a cell
- ``own_functions.py``: a set of own functions in a basis
- ``penalised_cells.py``, ``free_cells.py``: shared and own functions of cells with and without a penalty
- ``signed_functions.py``: coefficients and sums of squares of a basis with own functions
- ``covariance.py``: the covariance of coefficients, and draws from it; ``cell_products.py`` makes draws cheaper
"""
