"""Where the store's own copies of its log lie."""

from pathlib import Path

FOLDER = "copies"


def copies(home: Path) -> list[Path]:
    """The copies there are, the newest first; each is named by its day."""
    return sorted((home / FOLDER).glob("????-??-??.db"), reverse=True)
