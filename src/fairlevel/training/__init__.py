"""One loop for every penalty, predictor and grid."""
