"""The one place that names the version: setup reads it as text, the package imports it."""

__version__ = "0.1.0"
