"""Sums that penalties compute by kernels of their own on a GPU."""
