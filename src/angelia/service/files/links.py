"""Files as links: an address under which the gateway hands out one file of one delivery, for some hours.

An address names a delivery's file and when it ends, and is signed with a key of the home, so that nobody can make one
up and nothing has to be stored. It counts as long as the delivery is in the log: deleting the conversation ends it,
removing the key ends all.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import urlsplit

from angelia.core.content import Media
from angelia.core.errors import ConfigError
from angelia.core.ids import Clock
from angelia.core.term import holds
from angelia.service.settings.config import GatewaySettings
from angelia.store.media.blobs import BlobStore, damaged
from angelia.store.media.durable import unfinished
from angelia.store.tables.outbox import Outbox, Receipt

KEY_FILE = "links.key"
KEY_BYTES = 32

_SIGNS = 43
"""Hexadecimal digits of a signature: 172 bits, more than anybody can guess."""

_TOKEN = re.compile(rf"([0-9a-f]{{1,16}})-([0-9a-f]{{1,4}})-([0-9a-f]{{1,12}})-([0-9a-f]{{{_SIGNS}}})", re.ASCII)

LinkTo = Callable[[Receipt, Media], str]
"""The address of one file of a delivery."""


class Links:
    """Makes addresses beneath `base`, good for so many `hours`, and finds what they stand for."""

    def __init__(self, base: str, hours: int, key: bytes, outbox: Outbox, clock: Clock) -> None:
        self._base = base.rstrip("/")
        self._hours = hours
        self._key = key
        self._outbox, self._clock = outbox, clock

    def link(self, receipt: Receipt, media: Media) -> str:
        """An address from which this file of the delivery can be had from now on."""
        part, expires = receipt.parts.index(media), self._clock() // 1000 + self._hours * 3600
        token = f"{receipt.place:x}-{part:x}-{expires:x}-{self._signature(receipt, part, expires)}"
        return f"{self._base}/files/{token}"

    async def find(self, token: str) -> Media | None:
        """The file behind the end of an address; None if it is none of ours, too old, or its delivery is gone."""
        read = _TOKEN.fullmatch(token)
        if read is None:
            return None
        place, part, expires = (int(digits, 16) for digits in read.groups()[:3])
        receipt = await self._outbox.at(place) if place < 1 << 63 else None
        media = receipt.parts[part] if receipt and part < len(receipt.parts) else None
        begun = (expires - self._hours * 3600) * 1000
        if receipt is None or not isinstance(media, Media) or not holds(begun, expires * 1000, self._clock()):
            return None
        return media if hmac.compare_digest(self._signature(receipt, part, expires), read[4]) else None

    def _signature(self, receipt: Receipt, part: int, expires: int) -> str:
        """Bound to the very file: a place in the log could be taken by another delivery after one was erased."""
        media = receipt.parts[part]
        sha256 = media.blob.sha256 if isinstance(media, Media) else ""
        about = f"{receipt.conversation}/{receipt.id}/{part}/{sha256}/{expires}"
        return hmac.new(self._key, about.encode(), hashlib.sha256).hexdigest()[:_SIGNS]


def links_of(settings: GatewaySettings, home: Path, outbox: Outbox, clock: Clock) -> Links | None:
    """As somebody set them up; None where nobody did.

    Raises:
        ConfigError: the setting is no address, or nothing listens for it.
        StoreError: the key cannot be kept.
    """
    if not settings.links:
        return None
    address = urlsplit(settings.links)
    if address.scheme not in ("http", "https") or not address.netloc or address.query or address.fragment:
        raise ConfigError(
            f"gateway.links is {settings.links!r}.", "Expected an address such as https://files.example.org."
        )
    if not settings.listen:
        raise ConfigError(
            "gateway.links is set, and gateway.listen is not.",
            "Links lead to the gateway's own listener.",
            'Set gateway.listen, such as "127.0.0.1:8787", and lead the address there.',
        )
    return Links(settings.links, settings.link_hours, _key(home), outbox, clock)


async def checked(media: Media, blobs: BlobStore) -> AsyncIterator[bytes]:
    """The bytes of a file in pieces, the last of them only if all are what they were.

    Raises:
        NotFound: they are gone.
        StoreDamaged: they are others.
    """
    digest, held = hashlib.sha256(), b""
    async for piece in blobs.chunks(media.blob.sha256):
        digest.update(piece)
        if held:
            yield held
        held = piece
    if digest.hexdigest() != media.blob.sha256:
        raise damaged(media.blob.sha256)
    yield held


def _key(home: Path) -> bytes:
    """The home's key, made when it is first needed; only its owner can read it."""
    path = home / KEY_FILE
    if not path.exists():
        with unfinished(home) as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.keep(path)
    return path.read_bytes()
