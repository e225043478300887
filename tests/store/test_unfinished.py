"""A conversation that is known to rest is not read to find what is open; any other one is named."""

import pytest

from angelia.core import entry as e
from angelia.core.ending import Answered
from angelia.core.ids import ConversationId
from angelia.store.log.transcript import Transcript
from angelia.store.port import LogStore
from tests.store.leases import acquire
from tests.store.words import answered, said

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))]),
]

ONE, TWO = ConversationId("one"), ConversationId("two")
TURN: list[e.AnyFact] = [said("Hello."), answered("Hi."), e.TurnClosed(Answered())]


async def begun(transcript: Transcript, name: ConversationId, *facts: e.AnyFact) -> ConversationId:
    await transcript.append(name, [e.ConversationOpened("chat", "/work"), *facts])
    return name


async def test_what_nobody_has_seen_at_rest_is_named_and_what_was_left_so_is_not(
    db: LogStore, transcript: Transcript
) -> None:
    await begun(transcript, ONE, *TURN)
    await begun(transcript, TWO, *TURN)
    assert await transcript.unfinished([TWO, ConversationId("none"), ONE]) == [TWO, ONE]
    await (await acquire(db, ONE, "somebody")).release(4)
    assert await transcript.unfinished([TWO, ONE]) == [TWO]
    await transcript.note_rest(TWO, 4)
    assert await transcript.unfinished([TWO]) == [TWO], "nobody has driven it: there is nowhere to note it"


async def test_only_what_could_open_something_names_it_again(db: LogStore, transcript: Transcript) -> None:
    await begun(transcript, ONE, *TURN)
    await (await acquire(db, ONE, "somebody")).release(4)
    await transcript.append(ONE, [e.SystemSaid("A word of ours."), e.Pinned("Hello.")])
    assert await transcript.unfinished([ONE]) == []
    await transcript.append(ONE, [said("And now?")])
    assert await transcript.unfinished([ONE]) == [ONE]


async def test_who_lets_go_with_something_open_takes_back_nothing(db: LogStore, transcript: Transcript) -> None:
    await begun(transcript, ONE, *TURN)
    await (await acquire(db, ONE, "somebody")).release(4)
    await (await acquire(db, ONE, "another")).release()
    assert await transcript.unfinished([ONE]) == []
    await transcript.append(ONE, [said("And now?")])
    await (await acquire(db, ONE, "a third")).release()
    assert await transcript.unfinished([ONE]) == [ONE]
    await transcript.note_rest(ONE, 5)
    await transcript.note_rest(ONE, 2)
    assert await transcript.unfinished([ONE]) == []


async def test_who_was_overtaken_notes_nothing(db: LogStore, transcript: Transcript) -> None:
    await begun(transcript, ONE, *TURN)
    first = await acquire(db, ONE, "somebody")
    await first.release()
    await acquire(db, ONE, "another")
    await first.release(4)
    assert await transcript.unfinished([ONE]) == [ONE]
