"""What an entry said is erased from a log that others go on with: its place stays, and all that is derived agrees."""

import pytest

from angelia.core.content import Media, MediaKind, Text
from angelia.core.entry import (
    Address,
    AnyFact,
    ConversationOpened,
    NoteKind,
    NoteProposed,
    NoteScope,
    UserSaid,
    WordsErased,
)
from angelia.core.errors import Fenced, StoreDamaged
from angelia.core.ids import ConversationId
from angelia.core.principal import ERASED, OWNER, Principal
from angelia.store.log.lease import HeldElsewhere
from angelia.store.log.rewrite import Rewriting, rewrite
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.sql import upkeep
from angelia.store.sql.tips import Tip, TipsJournal
from angelia.store.tables.notes import Notes
from tests.store.leases import acquire
from tests.store.words import answered, said

pytestmark = pytest.mark.anyio

ANN = Principal("irc", "ann")
GROUP = ConversationId("group")
BLANK = UserSaid((Text("(erased)"),), ERASED, Address("irc", "#a"), key="1")


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))])
async def test_an_entry_says_something_else_and_all_that_is_derived_agrees(
    db: LogStore, transcript: Transcript, blobs: BlobStore
) -> None:
    ref = await blobs.put(b"a picture")
    note = NoteProposed(1, NoteScope.CHAT, "irc:#a", NoteKind.FACT, "grebe", ANN)
    words = UserSaid((Text("grebe"), Media(ref, MediaKind.IMAGE)), ANN, Address("irc", "#a"), key="1")
    opened = ConversationOpened("irc", "/", owner=ANN)
    await transcript.append(GROUP, [opened, words, answered("heron", cost=3), note])
    await transcript.append(ConversationId("other"), [ConversationOpened("terminal", "/"), said("heron, too")])
    changed: dict[int, AnyFact] = {
        1: ConversationOpened("irc", "/", owner=ERASED),
        2: BLANK,
        4: NoteProposed(*note_of(note)),
    }
    assert await rewrite(db, Rewriting(GROUP, changed, (WordsErased(3, OWNER),)), blobs) == [ref.sha256]
    facts = [entry.fact for entry in await transcript.entries(GROUP)]
    assert facts == [changed[1], BLANK, answered("heron", cost=3), changed[4], WordsErased(3, OWNER)]
    assert await upkeep.verify(db, blobs) == []
    assert (await search(db, OWNER, "grebe")).hits == ()
    assert len((await search(db, OWNER, "heron")).hits) == 2
    assert (await transcript.summary(ERASED, GROUP)).title == "(erased)"
    assert [one.text for one in await Notes(db).list(ERASED)] == ["(erased)"]
    await transcript.append(GROUP, [said("and on")])
    assert (await transcript.spent(ERASED, 0)).cost == 3


def note_of(note: NoteProposed) -> tuple[int, NoteScope, str, NoteKind, str, Principal]:
    """The same note, blank."""
    return note.number, note.scope, note.about, note.what, "(erased)", ERASED


async def test_nobody_drives_it_meanwhile_and_who_did_before_is_fenced(
    db: LogStore, transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    await transcript.append(conversation, [said("grebe")])
    lease = await acquire(db, conversation, "the gateway")
    change = Rewriting(conversation, {2: said("(erased)")}, (WordsErased(1, OWNER),))
    with pytest.raises(HeldElsewhere):
        await rewrite(db, change, blobs)
    await lease.release()
    await rewrite(db, change, blobs)
    with pytest.raises(Fenced):
        await transcript.append(conversation, [answered("late")], lease=lease)


async def test_a_log_that_is_not_whole_is_not_made_whole_by_it(
    db: LogStore, transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    await transcript.append(conversation, [said("grebe"), said("heron")])
    await db.write(lambda connection: connection.execute("DROP TRIGGER entries_never_change"))
    await db.write(lambda connection: connection.execute("UPDATE entries SET at = 5 WHERE seq = 3"))
    with pytest.raises(StoreDamaged):
        await rewrite(db, Rewriting(conversation, {2: said("(erased)")}, (WordsErased(1, OWNER),)), blobs)
    found, _ = await transcript.legible(conversation)
    assert found[1].fact == said("grebe")


def test_a_tip_from_before_binds_no_more_and_one_from_after_does(db: LogStore) -> None:
    journal = TipsJournal(db.home)
    for tip in (Tip(GROUP, 4, 9, b"a"), Tip(ConversationId("other"), 1, 3, b"b")):
        journal.follow(tip)
    journal.written()
    journal.rewriting(GROUP, 4)
    assert set(journal.read().known) == {"other"}
    journal.follow(Tip(GROUP, 4, 9, b"a"))  # another process writes late what it had committed before
    journal.written()
    assert set(journal.read().known) == {"other"}
    journal.follow(Tip(GROUP, 5, 10, b"c"))
    journal.written()
    journal.rewrite()
    assert journal.read().known[GROUP] == Tip(GROUP, 5, 10, b"c")
    journal.close()
