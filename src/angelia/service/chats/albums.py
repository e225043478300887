"""Which files of what is to go out stand together; pure.

Pictures and films stand together, and files that go as files. A caption begins another album, so that words stand
above what they tell of. What is in doubt goes with what was sent by the same call, and with nothing else.
"""

from collections.abc import Sequence

from angelia.channels.capabilities import Capabilities, Kind, NativeMethod
from angelia.channels.outgoing import OutFile
from angelia.service.chats.underway import Place

_FAMILIES = {Kind.PHOTO: Kind.PHOTO, Kind.VIDEO: Kind.PHOTO, Kind.DOCUMENT: Kind.DOCUMENT}
"""The kinds that stand together, each by the first of its family: a network takes no others in one album."""


def stands_in_albums(place: Place) -> bool:
    """Whether it is a file of a kind that others may stand beside."""
    return isinstance(place.message, OutFile) and place.message.kind in _FAMILIES


def together(places: Sequence[Place], capabilities: Capabilities) -> Sequence[Place]:
    """The first of them, and those right behind it that stand in one album with it."""
    way, run = capabilities.ways[Kind.ALBUM], list(places[:1])
    if not isinstance(way, NativeMethod):
        return run
    for place in places[1:]:
        if (way.most and len(run) >= way.most) or not _joins(place, run[0], sum(_size(one) for one in run), way):
            break
        run.append(place)
    return run


def _joins(place: Place, first: Place, size: int, way: NativeMethod) -> bool:
    message, head = place.message, first.message
    if not isinstance(message, OutFile) or not isinstance(head, OutFile) or place.doubts != first.doubts:
        return False
    family, fits = _FAMILIES.get(message.kind), not way.limit or size + message.size <= way.limit
    return (
        family is not None and family is _FAMILIES.get(head.kind) and not (message.caption or message.reply_to) and fits
    )


def _size(place: Place) -> int:
    return place.message.size if isinstance(place.message, OutFile) else 0
