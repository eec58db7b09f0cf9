"""Functions of cells, the profiles of discrete attributes, each of which may have an average of its own.

Cells share no rows, so their indicators are orthogonal as they stand, and products with them are sums over the rows of
each cell. The files here find the cells, make their functions orthonormal beside all others without a decomposition of
the many, and compute forms and covariances from such sums.
"""
