"""For how long conversations are kept: which go by the settings, when, and why some stay that would."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from angelia.context.system_notes import pins
from angelia.core.days import DAY_MS
from angelia.core.entry import ScheduleState
from angelia.core.errors import NotFound, StoreBusy
from angelia.core.ids import Clock, ConversationId
from angelia.core.moment import when
from angelia.core.principal import ANGELIA, OWNER
from angelia.engine.background import BackgroundWork
from angelia.engine.slices import in_slices
from angelia.engine.state import Turn, folding
from angelia.service.conversation.deletion import Deletion
from angelia.service.settings.config import RetentionSettings
from angelia.store.log import lease as leases
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import RECORDS
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.schedules import Schedules

_KEPT = "kept-conversation:"
_ERASED = "retention-erased:"
_LOOKED = "retention-looked:"
"""Before the place of the log's last entry at a look of the daily upkeep, under which its moment is remembered. What
was said after a look is no older than that, whatever a clock that was behind by then has dated it.
"""

logger = logging.getLogger("angelia.service")


class _Changed(StoreBusy):
    """Something was said in a conversation since it was looked at."""


class Over(Struct, frozen=True):
    """A conversation whose time is over at `goes`, when it was used last, Unix milliseconds. `stays` is why it is not
    erased then, empty where nothing speaks against it.
    """

    conversation: ConversationId
    door: str
    title: str
    last_at: int
    last_seq: int
    goes: int
    stays: str


class RetentionReceipt(Struct, frozen=True):
    """What was erased by the settings on one day: conversations by their ids, at Unix milliseconds."""

    at: int
    conversations: tuple[ConversationId, ...]


class Retention(Struct, frozen=True):
    """The rule of one home."""

    settings: RetentionSettings
    db: LogStore
    deletion: Deletion
    key_value: KeyValue
    clock: Clock

    @property
    def rules(self) -> bool:
        """Whether anything is ever erased by it."""
        return bool(self.settings.days or any(self.settings.doors.values()))

    async def over(self, within_ms: int = 0) -> list[Over]:
        """The conversations whose time is over, or will be within so many milliseconds; which goes first, first."""
        return await self._over(self.clock() + within_ms)

    async def _over(self, upto: int) -> list[Over]:
        if not self.rules:
            return []
        kept = {key.removeprefix(_KEPT): "you said that it is to be kept" for key, _ in await self.key_value.all(_KEPT)}
        schedules = await Schedules(self.db).visible(OWNER)
        going = [one.scheduled.into for one in schedules if one.state is not ScheduleState.ENDED]
        kept.update({one: "a schedule goes on in it" for one in going if one})
        looks = [(int(key.removeprefix(_LOOKED)), int(at)) for key, at in await self.key_value.all(_LOOKED)]
        past = [(place, at) for place, at in looks if at <= upto]
        found = await self.db.read(partial(_used_before, settings=self.settings, latest=upto, looks=past))
        return [msgspec.structs.replace(one, stays=await self._why_stays(one, kept)) for one in found]

    async def erase_what_is_over(self, upto: int) -> list[ConversationId]:
        """Erase what was over at a moment, Unix milliseconds, and nothing speaks against; each is told in the log file,
        and all in a receipt.

        Raises:
            StoreError: the store cannot be used; the receipt names what was to go.
        """
        going = [one for one in await self._over(upto) if not one.stays]
        if not going:
            return []
        key = f"{_ERASED}{self.clock()}"
        await self._receipt(key, [one.conversation for one in going])  # before: who dies on the way has told it
        erased = [one.conversation for one in going if await self._erased(one)]
        await self._receipt(key, erased)
        return erased

    async def looked(self, latest: int) -> None:
        """Remember this look, and those before as long as they may tell something; not those of after `latest`."""
        if not self.rules:
            return
        earliest = self.clock() - max(self.settings.days, *self.settings.doors.values(), 0) * DAY_MS
        for key, at in await self.key_value.all(_LOOKED):
            if not earliest <= int(at) <= latest:
                await self.key_value.forget(key)
        query = "SELECT coalesce(max(id), 0) FROM entries"
        place = await self.db.read(lambda connection: connection.execute(query).fetchone()[0])
        await self.key_value.put(f"{_LOOKED}{place}", str(self.clock()))

    async def keep(self, conversation: ConversationId) -> None:
        """Keep one, however long ago it was used."""
        await self.key_value.put(f"{_KEPT}{conversation}", str(self.clock()))

    async def keep_no_longer(self, conversation: ConversationId) -> None:
        """Let the settings hold for one again.

        Raises:
            NotFound: it was not kept.
        """
        if not await self.key_value.get(f"{_KEPT}{conversation}"):
            raise NotFound(f"{conversation} was not kept by your word.", then="`angelia retention` lists what stays.")
        await self.key_value.forget(f"{_KEPT}{conversation}")

    async def receipts(self) -> list[RetentionReceipt]:
        """What was erased by it, oldest first."""
        return [one for _, one in await self.key_value.all_as(RetentionReceipt, _ERASED)]

    async def _receipt(self, key: str, conversations: list[ConversationId]) -> None:
        if not conversations:
            return await self.key_value.forget(key)
        receipt = RetentionReceipt(self.clock(), tuple(conversations))
        await self.key_value.put(key, msgspec.json.encode(receipt).decode())
        return None

    async def _erased(self, one: Over) -> bool:
        try:
            left = await self.deletion.delete(one.conversation, partial(_require_unchanged, one=one), ANGELIA)
        except (NotFound, StoreBusy) as error:  # somebody works in it, speaks there, or has erased it
            logger.info("%s stays for now: %s", one.conversation, error)
            return False
        unused = f"the last time it was used was {when(one.last_at)}"
        logger.info("%s (%s) was erased by [retention]: %s", one.conversation, one.door, unused)
        if left:
            logger.warning("the sandbox of %s is left behind: %s", one.conversation, left)
        return True

    async def _why_stays(self, one: Over, kept: Mapping[str, str]) -> str:
        if why := kept.get(one.conversation, ""):
            return why
        if why := await self.db.read(partial(_why_stays, db=self.db, conversation=one.conversation)):
            return why
        log, damages = await self.deletion.transcript.legible(one.conversation)
        if damages:
            return "it is damaged, and `angelia store salvage` may need it"
        turn = await in_slices(folding(Turn(), log))
        if turn.opened or turn.unread:
            return "a turn is open"
        if pins(log):
            return "words are pinned in it"
        return "work goes on behind it" if BackgroundWork().now(log) else ""


def _used_before(
    connection: StoreConnection, settings: RetentionSettings, latest: int, looks: Sequence[tuple[int, int]]
) -> list[Over]:
    rows = connection.execute(
        "SELECT id, door, title, last_at, last_seq FROM conversations WHERE door <> 'parent'"  # noqa: S608 - fixed text
        f" AND door NOT IN {RECORDS} ORDER BY last_at",
    ).fetchall()
    found = [
        Over(ConversationId(own), door, title, last_at, last_seq, last_at + days * DAY_MS, "")
        for own, door, title, last_at, last_seq in rows
        if (days := settings.doors.get(door, settings.days)) and last_at + days * DAY_MS <= latest
    ]
    younger = (_no_older(connection, one, looks) for one in found)
    return sorted((one for one in younger if one.goes <= latest), key=lambda one: one.goes)


def _no_older(connection: StoreConnection, one: Over, looks: Sequence[tuple[int, int]]) -> Over:
    """As it is over, if it was used after a look."""
    query = "SELECT coalesce(max(id), 0) FROM entries WHERE conversation = ?"
    (place,) = connection.execute(query, (one.conversation,)).fetchone()
    used = max([one.last_at, *(at for before, at in looks if before < place)])
    return msgspec.structs.replace(one, last_at=used, goes=one.goes + used - one.last_at)


_STAYS: Mapping[str, str] = {
    "SELECT 1 FROM outbox WHERE conversation = ? AND status IN ('queued', 'sending')": "something is to go out",
    "SELECT 1 FROM outbox WHERE conversation = ? AND status IN ('failed', 'unknown')": "a delivery failed, or may have",
    "SELECT 1 FROM questions WHERE conversation = ?": "a question waits for an answer",
    "SELECT 1 FROM notes WHERE conversation = ? AND state <> 'dropped'": "something is remembered because of it",
}


def _why_stays(connection: StoreConnection, db: LogStore, conversation: ConversationId) -> str:
    if leases.held(connection, db, [conversation]):
        return "somebody works in it"
    found = (why for query, why in _STAYS.items() if connection.execute(query, (conversation,)).fetchone())
    return next(found, "")


def _require_unchanged(connection: StoreConnection, one: Over) -> None:
    row = connection.execute("SELECT last_seq FROM conversations WHERE id = ?", (one.conversation,)).fetchone()
    if row is None or row[0] != one.last_seq:
        raise _Changed(f"Something was said in {one.conversation} since it was looked at.")
