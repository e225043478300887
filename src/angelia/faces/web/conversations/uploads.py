"""Files that were brought to the page and belong to no message yet."""

import secrets
from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct

from angelia.core.content import Media
from angelia.core.days import DAY_MS
from angelia.core.errors import NotFound
from angelia.core.ids import Clock
from angelia.core.text import file_name
from angelia.service.upkeep import Looks
from angelia.store.media.measure import Intake
from angelia.store.tables.key_value import KeyValue

KEPT_MS = DAY_MS
"""As long as the store keeps bytes to which nothing refers."""

_PREFIX = "web-upload:"
_LOOKED = "web-uploads-looked"


class _Upload(Struct, frozen=True):
    at: int
    media: Media


class Uploads:
    """By an id that nobody guesses, for every process of a home."""

    def __init__(self, intake: Intake, key_value: KeyValue, clock: Clock) -> None:
        self._intake = intake
        self._key_value, self._clock = key_value, clock

    @property
    def limit(self) -> int:
        """Bytes of one file, at most."""
        return self._intake.limit

    async def take(self, pieces: AsyncIterator[bytes], name: str) -> tuple[str, Media]:
        """Store a file as it arrives; its id, and what it is.

        Raises:
            BadInput: it is larger than the limit.
            RequestRefused: it did not arrive whole; nothing was stored.
        """
        await self._tidy()
        media = await self._intake.stream_to_media(pieces, file_name(name) or "file")
        own = secrets.token_urlsafe(16)
        await self._note(_PREFIX + own, media)
        return own, media

    async def get(self, own: str) -> Media:
        """The file of this id; it may be asked for again, for a message that is sent again.

        Raises:
            NotFound: there is none, or not any more.
        """
        kept = await self._key_value.get_as(_Upload, _PREFIX + own)
        if not kept:
            raise NotFound("A file of this message is not there any more.", "It was brought long ago.", "Add it again.")
        return kept.media

    async def _tidy(self) -> None:
        async with Looks(self._key_value, self._clock).daily(_LOOKED) as look:
            for key, upload in await self._key_value.all_as(_Upload, _PREFIX) if look.due else ():
                if look.upto - upload.at > KEPT_MS:
                    await self._key_value.forget(key)
                elif upload.at > look.latest:  # a clock was ahead
                    await self._note(key, upload.media)

    async def _note(self, key: str, media: Media) -> None:
        await self._key_value.put(key, msgspec.json.encode(_Upload(self._clock(), media)).decode())
