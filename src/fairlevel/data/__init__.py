"""Tables and where they come from, encoding, splitting, scaling, and the synthetic design."""
