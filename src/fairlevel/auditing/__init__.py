"""What a set of predictions does across sensitive attributes."""
