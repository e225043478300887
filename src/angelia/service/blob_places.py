"""The blobs of a home, where its settings say that they lie."""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.core.errors import BadInput
from angelia.service.settings.config import Loaded
from angelia.store.log.references import referred_among
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.tables.key_value import KeyValue

if TYPE_CHECKING:
    from angelia.store.media.cached_blobs import Named, Referred

HOME = "home"
S3 = "s3://"
_SHARED = "blobs:owner"


def blobs_of(
    loaded: Loaded, environ: Mapping[str, str], referred: "Referred", named: "Named | None" = None
) -> BlobStore:
    """The blobs of this home, of whose names its log knows those that are `referred` to; nothing is reached yet. Where
    several homes share that log, it says what they are `named` together.

    Raises:
        ConfigError, MissingPart: `blobs` is of no use; says what to write or to install.
    """
    if not loaded.config.blobs:
        return BlobStore(loaded.home)
    from angelia.store.media.cached_blobs import CachedBlobs
    from angelia.store.objects.registry import open_objects

    objects = open_objects(loaded.config.blobs, environ)
    return CachedBlobs(loaded.home, objects, loaded.config.files.cache_bytes, referred, named)


def other_place(loaded: Loaded, address: str) -> Loaded:
    """The same home with its blobs at another address, `home` for the home itself; nothing that it fetches is given up.

    Raises:
        BadInput: they lie there already.
    """
    blobs = "" if address == HOME else address
    if blobs == loaded.config.blobs:
        raise BadInput(f"The files of this home lie in {address} already.", then="Name another place to copy them to.")
    files = replace(loaded.config.files, cache_bytes=sys.maxsize)
    return replace(loaded, config=replace(loaded.config, blobs=blobs, files=files))


def in_log(db: LogStore) -> "Referred":
    """What the log of an open home refers to."""

    async def referred(names: Sequence[str]) -> set[str]:
        return await db.read(partial(referred_among, names=names))

    return referred


def shared_name(loaded: Loaded, db: LogStore) -> "Named | None":
    """What the homes of this log are named together; None where it lies in the home, which has it for itself."""
    if not loaded.config.store:
        return None
    known = KeyValue(db)

    async def named(own: str) -> str:
        return own if await known.replace(_SHARED, "", own) else await known.get(_SHARED)

    return named


async def nothing_known(_: Sequence[str]) -> set[str]:
    """Where no log is open: no file is given up."""
    return set()


def blob_keys(loaded: Loaded, environ: Mapping[str, str]) -> frozenset[str]:
    """The secrets by which they are reached."""
    return frozenset(environ[name] for name in key_names(loaded.config.blobs) if environ.get(name))


def key_names(blobs: str) -> frozenset[str]:
    """The variables that hold those secrets."""
    if not blobs.startswith(S3):
        return frozenset()
    from angelia.store.objects.s3 import SECRET

    return frozenset(SECRET)
