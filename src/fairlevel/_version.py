"""The version, importable from anywhere below."""

__version__ = "0.1.0"
