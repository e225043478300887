"""Where the store's own copies of its log lie."""

from pathlib import Path

FOLDER = "copies"
STAGED = "copying"
"""The folder in which a log lies that is being copied into the home."""


def copies(home: Path) -> list[Path]:
    """The copies there are, the newest first; each is named by its day."""
    return sorted((home / FOLDER).glob("????-??-??.db"), reverse=True)
