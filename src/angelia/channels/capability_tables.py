"""What every channel can do, side by side: rows of a table, from the tables that the channels send by."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn, assert_never

from angelia.channels.capabilities import As, Capabilities, IncomingKind, Kind, NativeMethod, Never, Way
from angelia.channels.health import Health
from angelia.channels.port import ChannelContext, ChannelProvider
from angelia.core.ids import wall_clock

Row = tuple[str, ...]


def table_of(provider: ChannelProvider) -> Capabilities:
    """A channel's table under its default settings; the channel is opened for it, and reaches nothing."""
    context = ChannelContext("matrix", Path(), wall_clock, _unreached, _unreached, _unheard, _untold, {})
    return provider.open(provider.settings(), context).capabilities


def sending(tables: Mapping[str, Capabilities]) -> list[Row]:
    """A row for each kind of thing that goes out, with a cell for each channel."""
    return [(str(kind), *(in_short(table.ways[kind]) for table in tables.values())) for kind in Kind]


def hearing(tables: Mapping[str, Capabilities]) -> list[Row]:
    """A row for each kind of thing that comes in."""
    return [(str(heard), *(in_short(table.hears[heard]) for table in tables.values())) for heard in IncomingKind]


def bounds(tables: Mapping[str, Capabilities]) -> list[Row]:
    """What holds for every message of a channel."""
    all_of = tables.values()
    return [
        ("longest text", *(f"{table.text_limit:,} {_COUNTS[table.units]}" for table in all_of)),
        ("a repeat is absorbed", *("yes" if table.idempotent else "no" for table in all_of)),
        ("seconds between messages", *(f"{table.pace:g}" for table in all_of)),
        ("seconds between edits", *(f"{table.edit_pace:g}" if table.can(Kind.EDIT) else "" for table in all_of)),
        (
            "seconds that a draft stays",
            *(f"{table.draft_seconds:g}" if table.can(Kind.DRAFT) else "" for table in all_of),
        ),
    ]


def particulars(table: Capabilities) -> Iterator[Row]:
    """What is behind the short cells of a channel: methods with their limits, detours, reasons of refusals."""
    for sent in Kind:
        yield f"sends {sent}", in_full(table.ways[sent])
    for heard in IncomingKind:
        yield f"hears {heard}", in_full(table.hears[heard])


def in_short(way: Way) -> str:
    """One cell.

    >>> native = in_short(NativeMethod("sendPhoto", 10_000_000)), in_short(NativeMethod("getUpdates"))
    >>> (*native, in_short(Never("it has none")))
    ('10 MB', 'yes', 'no')
    """
    match way:
        case NativeMethod(limit=limit):
            return _size(limit) if limit else "yes"
        case As(kind=kind):
            return f"as {kind}"
        case Never():
            return "no"
        case _:
            assert_never(way)


def in_full(way: Way) -> str:
    """The same with everything that is known.

    >>> in_full(NativeMethod("sendVoice", 50_000_000, 1024, ("audio/ogg",)))
    'sendVoice: at most 50 MB, a caption of 1,024, audio/ogg'
    """
    match way:
        case NativeMethod(method=method):
            bounds = [
                f"at most {_size(way.limit)}" if way.limit else "",
                f"a caption of {way.caption:,}" if way.caption else "",
                f"{way.longest:,} pixels for width and height" if way.longest else "",
                f"{way.ratio:g} to 1" if way.ratio else "",
                f"{way.most} in one" if way.most else "",
                ", ".join(way.mimes),
            ]
            known = ", ".join(bound for bound in bounds if bound)
            return f"{method}: {known}" if known else method
        case As(kind=kind, because=because):
            return f"as {kind}: {because}"
        case Never(because=because):
            return f"no: {because}"
        case _:
            assert_never(way)


_COUNTS = {"utf16": "UTF-16 units", "characters": "characters", "bytes": "bytes"}


def _size(size: int) -> str:
    """A size in three digits.

    >>> _size(10_485_760), _size(1_000_000_000)
    ('10.5 MB', '1 GB')
    """
    return f"{size / 1_000_000_000:.3g} GB" if size >= 1_000_000_000 else f"{size / 1_000_000:.3g} MB"


async def _unreached(_: object) -> NoReturn:
    raise AssertionError("a channel that is only looked at reaches nothing")


async def _unheard(_: str, __: str) -> None:
    return None


def _untold(_: Health) -> None:
    return None
