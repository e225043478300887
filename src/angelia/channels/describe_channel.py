"""What a chat network can do, in a few lines for the model: pure, and the same bytes for the same table."""

from collections.abc import Mapping

from angelia.channels.capabilities import FILES, As, Capabilities, Kind, NativeMethod, Never, Units, Way
from angelia.core.counts import counted

_COUNTED = {Units.UTF16: "characters", Units.CHARACTERS: "characters", Units.BYTES: "bytes"}

_TOLD = (*FILES, Kind.ALBUM)
"""What a model can want to send; typing marks, edits and the like are not its business."""

_CONVENTION = (
    "To send a file with an answer, name it in a line of its own: MEDIA:/path/to/file. The file goes out beside the "
    "text and the line is not shown. [[audio_as_voice]] in that line makes a recording a voice message, "
    "[[as_document]] sends a file unchanged. A path within a sentence stays a path."
)


def channel_description(door: str, capabilities: Capabilities, link_hours: int = 0) -> str:
    """What the model is told when a conversation is opened at a door, or moves to one.

    `link_hours` is how long a file that the network does not take can be had by a link, 0 where there are no links.
    """
    lines = [
        f"This conversation is now reached in the chat network “{door}”.",
        _words(capabilities),
        _files(capabilities),
    ]
    if detours := _detours(capabilities.ways):
        lines.append(f"Not natively: {'; '.join(detours)}.")
    if missing := _missing(capabilities.ways):
        lines.append(f"Never: {'; '.join(missing)}.")
    if link_hours:
        lines.append(
            f"A file that it does not take goes as a link instead, which ends after {counted(link_hours, 'hour')}."
        )
    return "\n".join([*lines, _CONVENTION])


def _words(capabilities: Capabilities) -> str:
    most = f"{capabilities.text_limit:,} {_COUNTED[capabilities.units]}"
    return f"Write Markdown: it is shown as well as the network can. One message holds {most}; longer text is split."


def _files(capabilities: Capabilities) -> str:
    """The files that go natively, those with the same limit together."""
    kinds: dict[int, list[str]] = {}
    for kind in FILES:
        way = capabilities.ways[kind]
        if isinstance(way, NativeMethod):
            kinds.setdefault(way.limit, []).append(str(kind))
    told = [f"{_listed(names)} {_up_to(limit)}" for limit, names in kinds.items()]
    return f"Files it takes: {'; '.join(told) or 'none'}."


def _detours(ways: Mapping[Kind, Way]) -> list[str]:
    return [f"{kind} goes as {way.kind} ({way.because})" for kind in _TOLD if isinstance(way := ways[kind], As)]


def _missing(ways: Mapping[Kind, Way]) -> list[str]:
    return [f"{kind} ({way.because})" for kind in _TOLD if isinstance(way := ways[kind], Never)]


def _listed(names: list[str]) -> str:
    """Names as a sentence has them.

    >>> _listed(["photo"]), _listed(["audio", "video", "document"])
    ('photo', 'audio, video and document')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _up_to(limit: int) -> str:
    """A limit in decimal megabytes.

    >>> _up_to(10_000_000), _up_to(0)
    ('up to 10 MB', 'of any size')
    """
    return f"up to {limit / 1_000_000:g} MB" if limit else "of any size"
