"""The files of a message: fetched once access is clear, into the blob store, or named with the reason why not."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from angelia.channels.capabilities import Kind
from angelia.channels.failures import CannotFetch, ChannelError, LoginFailed, NotSent
from angelia.channels.incoming import OfferedFile
from angelia.channels.port import Channel
from angelia.context.media_forms import quoted
from angelia.core.content import Content, Media, MediaKind, Text
from angelia.core.errors import BadInput
from angelia.core.text import clean
from angelia.store.media.measure import Intake

TRIES = 3
"""How often a file is asked for while the network says that another try may do."""
_PAUSE_S = 1.0


async def fetched(
    channel: Channel, offers: Sequence[OfferedFile], intake: Intake
) -> tuple[tuple[Content, ...], tuple[str, ...]]:
    """The files as parts of a message, in order, and a sentence for whoever sent each that could not be had.

    A file that cannot be had stays in the message as a line, so that the model knows of it too.

    Raises:
        StoreError: nothing can be stored now; the message should come again.
    """
    parts: list[Content] = []
    missing: list[str] = []
    for offer in offers:
        unopened: list[BadInput] = []
        try:
            parts.append(await _fetch(channel, offer, intake, unopened.append))
        except (ChannelError, BadInput) as error:
            name = quoted(offer.name or offer.kind.value)
            parts.append(Text(f"[a file that did not arrive: {name}. {clean(str(error))}]"))
            missing.append(f"I did not get {name}: {error}")
        for limit in unopened:
            parts.append(Text(f"[it could not be opened: {clean(str(limit))}]"))
            missing.append(f"I have the file and could not open it. {limit}")
    return tuple(parts), tuple(missing)


async def _fetch(channel: Channel, offer: OfferedFile, intake: Intake, unopened: Callable[[BadInput], object]) -> Media:
    if offer.size > intake.limit:
        raise CannotFetch(f"It is {offer.size / 1e6:.1f} MB, and I take at most {intake.limit / 1e6:.0f} MB.")
    for tried in range(1, TRIES + 1):
        try:
            media = await intake.stream_to_media(channel.fetch(offer), clean(offer.name), unopened=unopened)
        except LoginFailed:
            raise
        except NotSent:
            if tried == TRIES:
                raise
            await asyncio.sleep(_PAUSE_S * tried)
        else:
            voice = offer.kind is Kind.VOICE and media.media is MediaKind.AUDIO
            seconds = media.seconds or offer.seconds
            return replace(media, media=MediaKind.VOICE if voice else media.media, seconds=seconds)
    raise AssertionError("the last try returns or raises")
