"""Tables, splits, scaling and the synthetic design."""
