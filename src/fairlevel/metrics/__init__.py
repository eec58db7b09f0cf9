"""What predictions do across A: DPVar, its interval, accuracy, scorers."""
