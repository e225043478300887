"""Erases a person from a home: their conversations, what they said in others', what is kept under their name.

Before anything is erased a row says who is being erased and how much there was; it is gone when all else is, and a
receipt without a name stands in its place. So whatever ends the erasing, the same command goes on with it, and the
receipt tells all that there was. Nobody may work in the home meanwhile: a process that has read a conversation would
ask a model with what it remembers.
"""

import asyncio
import hashlib
import shutil
from contextlib import suppress

import msgspec
from msgspec import Struct

from angelia.core import entry as e
from angelia.core.counts import counted
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput, NotFound, StoreBusy
from angelia.core.ids import Clock, ConversationId
from angelia.core.principal import ALONE, Principal
from angelia.service.conversation.deletion import Deletion
from angelia.service.people.blanked import without
from angelia.service.people.chat_folders import own_folder
from angelia.service.people.copies import copies_know, make_copies_anew
from angelia.service.people.found import Counts, FoundPerson, SharedPart, find_person
from angelia.store.log.at_work import at_work
from angelia.store.log.rewrite import Rewriting, rewrite
from angelia.store.port import LogStore
from angelia.store.tables.key_value import KeyValue, read_as
from angelia.store.tables.people import KnownPeople

_BEGUN = "erasing-person:"
_ERASED = "erased-person:"
_UNFINISHED_NAMED = 5


class ErasureReceipt(Struct, frozen=True):
    """That somebody was erased, by whom and when that began (Unix milliseconds), and what there was of them. Who they
    were is a `digest` alone: it can be held against a name, and not be read.
    """

    digest: str
    at: int
    by: Principal
    counts: Counts


class _Begun(Struct, frozen=True):
    at: int
    by: Principal
    counts: Counts


class PersonErasure(Struct, frozen=True):
    """What erases people from one home."""

    db: LogStore
    deletion: Deletion
    key_value: KeyValue
    clock: Clock

    async def preview(self, who: Principal) -> FoundPerson:
        """What would be erased; see `find_person`."""
        return await find_person(self.deletion.transcript, KnownPeople(self.db), who)

    async def begun(self) -> list[Principal]:
        """Those whose erasing was begun, and has not come to its end."""
        return [Principal.parse(key.removeprefix(_BEGUN)) for key, _ in await self.key_value.all(_BEGUN)]

    async def receipts(self) -> list[ErasureReceipt]:
        """What was erased, oldest first."""
        kept = await self.key_value.all_as(ErasureReceipt, _ERASED)
        return sorted((one for _, one in kept), key=lambda one: one.at)

    async def erase(self, who: Principal, by: Principal) -> tuple[ErasureReceipt, list[str]]:
        """Erase somebody, or go on with it; the receipt, and what is left, a sentence each.

        Raises:
            BadInput: they are nobody who can be erased, or a turn of theirs is open in a conversation of others.
            NotFound: nothing here is theirs.
            StoreBusy: somebody works in this home.
            StoreDamaged, CodecError: a conversation of theirs cannot be read; what came before it is erased.
        """
        if str(who) in ALONE:
            raise BadInput(f"{who} cannot be erased.", "This home is theirs.", "`angelia uninstall` says how it goes.")
        await self._require_unused()
        if not await self.begun():
            await make_copies_anew(self.db, self.key_value)  # of an erasing that came so far
        found = await self.preview(who)
        _require_finished(found)
        begun = await self._begin(who, by, found)
        people, left = KnownPeople(self.db), list[str]()
        await people.forget(who)
        for conversation in found.own:
            left += await self._erase_own(conversation, by)
            crash_point("person.conversation_erased")
        for shared in found.shared:
            await self._blank(shared, who, by)
            crash_point("person.conversation_blanked")
        await people.forget(who)  # what was spent in conversations that are erased by now
        crash_point("person.before_receipt")
        receipt = ErasureReceipt(_digest(who), begun.at, begun.by, begun.counts)
        await self._end(who, receipt)
        await make_copies_anew(self.db, self.key_value)
        await self.db.checkpoint()
        return receipt, left

    async def _require_unused(self) -> None:
        if working := await self.db.read(lambda connection: at_work(connection, self.db)):
            raise StoreBusy(
                f"{', '.join(working)}: whoever works in this home remembers what was said.",
                "A person is erased while nobody does, so that nothing of them goes to a model any more.",
                "End what runs, and erase again. Nothing was erased.",
            )

    async def _begin(self, who: Principal, by: Principal, found: FoundPerson) -> _Begun:
        key = f"{_BEGUN}{who}"
        known = await self.key_value.get(key)
        if earlier := read_as(_Begun, key, known) if known else None:
            await copies_know(self.key_value)
            return earlier
        if not known and found.counts == Counts() and not any((await KnownPeople(self.db).beside(who)).values()):
            raise NotFound(f"Nothing here is {who}'s.", then="`angelia people` lists who is known.")
        await self.deletion.audit.record(e.AdminAct.PERSON_ERASED, by)
        await copies_know(self.key_value)
        begun = _Begun(self.clock(), by, found.counts)
        await self.key_value.put(key, msgspec.json.encode(begun).decode())
        crash_point("person.begun")
        return begun

    async def _end(self, who: Principal, receipt: ErasureReceipt) -> None:
        key = f"{_ERASED}{receipt.at}.{receipt.digest}"
        await self.key_value.put(key, msgspec.json.encode(receipt).decode())
        crash_point("person.receipt")
        await self.key_value.forget(f"{_BEGUN}{who}")

    async def _erase_own(self, conversation: ConversationId, by: Principal) -> list[str]:
        """One conversation with what its chat is known by, and the folder of that chat if nobody else works there."""
        transcript = self.deletion.transcript
        with suppress(NotFound):  # it went with the one that it worked for
            log = await transcript.entries(conversation)
            chats = await self.db.read(
                lambda connection: connection.execute(
                    "SELECT door, chat, thread FROM doors WHERE conversation = ?", (conversation,)
                ).fetchall()
            )
            left = await self.deletion.delete(conversation, by=by)
            for door, chat, thread in chats:
                await self.key_value.forget(f"voice:{door}\n{chat}\n{thread}")
            await self.key_value.forget(f"model:{conversation}")
            if (
                not left
                and (folder := own_folder(self.deletion.home, log))
                and not await transcript.works_in(str(folder))
            ):
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            return [f"The sandbox of {conversation} is left behind: {left}"] if left else []
        return []

    async def _blank(self, shared: SharedPart, who: Principal, by: Principal) -> None:
        deletion, conversation = self.deletion, shared.conversation
        log = await deletion.transcript.entries(conversation)
        facts = without(log, shared.theirs, who)
        if not facts:
            return
        dropped = [
            e.NoteDropped(entry.fact.number, by)
            for entry in log
            if isinstance(entry.fact, e.NoteProposed) and entry.seq in shared.theirs.all
        ]
        told: tuple[e.AnyFact, ...] = (*dropped, e.WordsErased(len(facts), by))
        for sha256 in await rewrite(self.db, Rewriting(conversation, facts, told), deletion.blobs):
            await deletion.renditions.forget(sha256)
        if any(isinstance(fact, e.FilesChanged) for fact in facts.values()):
            await asyncio.to_thread(deletion.undo.forget, conversation)


def _require_finished(found: FoundPerson) -> None:
    if unfinished := found.unfinished:
        named = ", ".join(unfinished[:_UNFINISHED_NAMED])
        where = f"{counted(len(unfinished), 'conversation')} of others"
        raise BadInput(
            f"In {where} a turn of theirs is open, or an answer on its way: {named}.",
            "What is erased while a model works on it would be asked again.",
            "Let the gateway bring it to its end (`/stop` in the chat ends a turn), or erase the whole conversation "
            "with `angelia delete`. Nothing was erased.",
        )


def _digest(who: Principal) -> str:
    return hashlib.sha256(f"angelia-person:{who}".encode()).hexdigest()


def is_of(receipt: ErasureReceipt, who: Principal) -> bool:
    """Whether a receipt is of somebody."""
    return receipt.digest == _digest(who)
