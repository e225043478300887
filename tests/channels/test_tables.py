"""The matrix shows every kind of every room, from the tables that the rooms send by."""

import pytest

from angelia.channels.capabilities import As, IncomingKind, Kind, NativeMethod, Never, Way, faults
from angelia.channels.capability_tables import bounds, hearing, in_full, in_short, particulars, sending, table_of
from angelia.channels.registry import OURS, find_channel


@pytest.mark.parametrize("name", OURS)
def test_every_room_answers_for_every_kind(name: str) -> None:
    tables = {name: table_of(find_channel(name, {}))}
    assert not faults(tables[name])
    assert [row[0] for row in sending(tables)] == list(Kind)
    assert [row[0] for row in hearing(tables)] == list(IncomingKind)
    assert all(all(row) for row in (*sending(tables), *hearing(tables), *particulars(tables[name])))
    assert {len(row) for row in bounds(tables)} == {2}


@pytest.mark.parametrize(
    ("way", "short", "full"),
    [
        (NativeMethod("send"), "yes", "send"),
        (NativeMethod("send", 5_000_000, 1024), "5 MB", "send: at most 5 MB, a caption of 1,024"),
        (As(Kind.VIDEO, "it has none"), "as video", "as video: it has none"),
        (Never("it has none"), "no", "no: it has none"),
    ],
)
def test_a_way_is_told_in_a_word_and_in_full(way: Way, short: str, full: str) -> None:
    assert (in_short(way), in_full(way)) == (short, full)
