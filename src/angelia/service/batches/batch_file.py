"""Which batch a folder holds: written before anything is asked, so that whoever starts it again goes on with it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.errors import BadInput
from angelia.core.ids import sortable_id

_FILE = "batch.json"


class BatchIdentity(Struct, frozen=True, forbid_unknown_fields=True):
    """A batch: its id, and what it is made of. `tasks` is the digest of the tasks with their checks."""

    id: str
    tasks: str
    models: tuple[str, ...]
    tries: int
    sandbox: str


@contextmanager
def held_batch(folder: Path, wanted: BatchIdentity) -> Iterator[BatchIdentity]:
    """The batch of a folder, new or as it was begun, held so that no other process works on it.

    Raises:
        BadInput: the folder holds another batch, is held by another process, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written: {error.strerror or error}.", then="Name another folder: -o."
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"Another process works on the batch in {folder}.", then="Wait for it, or stop it."
            ) from None
        yield _agreed(descriptor, folder, wanted)
    finally:
        os.close(descriptor)


def _agreed(descriptor: int, folder: Path, wanted: BatchIdentity) -> BatchIdentity:
    data = os.pread(descriptor, 1 << 20, 0)
    known = _read(data)
    if known is None:  # new, or its writing was cut off, before which nothing was begun
        made = msgspec.structs.replace(wanted, id=sortable_id())
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.format(msgspec.json.encode(made)) + b"\n", 0)
        os.fsync(descriptor)
        return made
    for what, there, here in (
        ("tasks", known.tasks, wanted.tasks),
        ("models", ", ".join(known.models), ", ".join(wanted.models)),
        ("number of tries", str(known.tries), str(wanted.tries)),
        ("sandbox", known.sandbox, wanted.sandbox),
    ):
        if there != here:
            told = "" if what == "tasks" else f" ({there}, now {here})"
            raise BadInput(
                f"{folder} holds a batch with other {what}{told}; nothing was asked.",
                then="Start it as it was begun, or name another folder with -o.",
            )
    return known


def _read(data: bytes) -> BatchIdentity | None:
    try:
        return msgspec.json.decode(data, type=BatchIdentity)
    except msgspec.MsgspecError:
        return None
