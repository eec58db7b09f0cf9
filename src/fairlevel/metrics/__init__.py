"""DPVar of predictions, its interval and test, profiles along attributes, scorers."""
