"""Conversations as rows for every door."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from angelia.core.ids import short
from angelia.core.moment import when
from angelia.store.log.transcript import Summary

HEAD = ("ID", "LAST USED", "DOOR", "FOLDER", "BEGAN WITH")


def conversation_rows(found: Sequence[Summary], zone: ZoneInfo | None = None) -> list[tuple[str, ...]]:
    """A head and a row for each conversation; no head where there is none. A `zone` is named, so that nobody far away
    takes its times for theirs; None is this machine's, before whoever sits at it.
    """
    rows = [(short(one.id), when(one.last_at, zone), one.door, _folder(one.workspace), one.title) for one in found]
    used = f"{HEAD[1]} ({zone.key})" if zone else HEAD[1]
    return [(HEAD[0], used, *HEAD[2:]), *rows] if rows else []


def _folder(path: str) -> str:
    return path if len(path) <= 30 else f"…{path[-29:]}"
