"""Conversations as rows for every door."""

from collections.abc import Sequence
from datetime import tzinfo

from angelia.core.ids import short
from angelia.core.moment import when
from angelia.store.log.transcript import Summary

HEAD = ("ID", "LAST USED", "DOOR", "FOLDER", "BEGAN WITH")


def conversation_rows(found: Sequence[Summary], zone: tzinfo | None = None) -> list[tuple[str, ...]]:
    """A head and a row for each conversation; no head where there is none. `zone` as `core.moment.when` takes it."""
    rows = [(short(one.id), when(one.last_at, zone), one.door, _folder(one.workspace), one.title) for one in found]
    return [HEAD, *rows] if rows else []


def _folder(path: str) -> str:
    return path if len(path) <= 30 else f"…{path[-29:]}"
