"""The version, importable from anywhere below."""

__version__ = "0.2.0"
