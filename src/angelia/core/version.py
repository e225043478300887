"""The version of this package."""

PACKAGE_VERSION = "0.1.0"
"""As in pyproject.toml (`tests/house/test_version.py`)."""
