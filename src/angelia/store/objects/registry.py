"""Opens the store of objects that an address means; third-party ones are found by entry point."""

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from angelia.core.errors import ConfigError
from angelia.store.objects.port import ObjectStore

GROUP = "angelia.objects"
"""The entry point group: the name is the scheme, what stands before `://`; the value an `OpenObjects`."""

OURS = {
    "": "angelia.store.objects.folder",
    "s3": "angelia.store.objects.s3",
}
"""Modules by scheme, each with an `open_objects`; imported when an address of theirs is used."""


class OpenObjects(Protocol):
    """How a store of objects is opened; nothing is reached yet."""

    def __call__(self, address: str, environ: Mapping[str, str]) -> ObjectStore:
        """Raises ConfigError for an address or variables that mean nothing, MissingPart where an extra is needed."""
        ...


def open_objects(address: str, environ: Mapping[str, str]) -> ObjectStore:
    """The objects at `address`: a folder, or `scheme://…`. `environ` is where credentials are looked for.

    Raises:
        ConfigError, MissingPart: see `OpenObjects`.
    """
    before, marked, _ = address.partition("://")
    scheme = before if marked else ""
    if scheme not in OURS:
        return _third_party(scheme)(address, environ)
    return cast("OpenObjects", import_module(OURS[scheme]).open_objects)(address, environ)


def _third_party(scheme: str) -> OpenObjects:
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=scheme):
        return cast("OpenObjects", entry.load())
    raise ConfigError(
        f"The setting `blobs` begins with {scheme}://, and nothing here stores files there.",
        then="Write s3://bucket/prefix, or a folder.",
    )
