"""The scikit-learn faces of the package."""
