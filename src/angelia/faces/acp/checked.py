"""What a client names, checked: folders, pages of a list, and what it asks for that is not to be had."""

from datetime import UTC, datetime
from pathlib import Path

from angelia.core.errors import BadInput
from angelia.path_queries import is_folder
from angelia.store.log.transcript import Mark


def folder_in(cwd: str) -> Path:
    """The folder of a session, links resolved.

    Raises:
        BadInput: not absolute, or no folder.
    """
    path = Path(cwd)
    if "\0" in cwd or not path.is_absolute() or not is_folder(path):
        raise BadInput(f"{cwd[:500]!r} is not the absolute path of a folder.")
    return path.resolve()


def once_folder(cwd: str) -> Path:
    """A folder in which sessions may have worked, links resolved; it may have been moved or removed since.

    Raises:
        BadInput: not absolute.
    """
    path = Path(cwd)
    if "\0" in cwd or not path.is_absolute():
        raise BadInput(f"{cwd[:500]!r} is no absolute path.")
    return path.resolve()


def left_out(folders: tuple[str, ...]) -> list[str]:
    """What a client asked for that is not to be had here, whole sentences."""
    return [f"Not opened, since a conversation has one folder here: {', '.join(folders)}."] if folders else []


def mark_in(cursor: str) -> Mark:
    """Where a page of sessions begins.

    Raises:
        BadInput: we gave no such cursor.
    """
    at, _, number = cursor.partition(".")
    if not at.isdecimal() or not number:
        raise BadInput("This cursor was not given by a list.")
    return Mark(int(at), number)


def time_of(at: int) -> str:
    """Unix milliseconds as ISO 8601."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
