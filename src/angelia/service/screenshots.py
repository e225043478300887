"""Screenshots that nobody was sent, pinned or named: their bytes are let go after some hours, and the log says so.

A browser's steps bring a picture each, which the model has looked at and nobody else will. What they showed stays in
the log in words: title and address stand in the result, and `BytesLetGo` tells which pictures went.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from angelia.context.media_forms import label
from angelia.core import codec
from angelia.core.content import MediaKind, Text, ToolCall
from angelia.core.entry import BytesLetGo, Entry, LetGo, ModelSaid, Pinned, ToolFinished, UserSaid, ViewMoved
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId
from angelia.core.media_parts import media_parts
from angelia.store.log.lease import HeldElsewhere
from angelia.store.log.old_pictures import rows_with_pictures
from angelia.store.log.references import blobs_in
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.media.renditions import Renditions
from angelia.store.port import LogStore
from angelia.store.tables.key_value import KeyValue

LOOKING = "browser_look"
"""The tool whose pictures are screenshots."""
_UPTO = "screenshots-upto"
"""Under this name the row of the log is remembered up to which nothing is left to let go."""
_HOUR_MS = 3_600_000
_SHOWN = 12
"""Digits by which a blob is named in words."""


class Screenshots(Struct, frozen=True):
    """Those of one home, kept for `hours`; 0 keeps them as long as their conversation."""

    db: LogStore
    transcript: Transcript
    blobs: BlobStore
    renditions: Renditions
    key_value: KeyValue
    hours: int

    async def let_go(self, upto: int) -> int:
        """Let go of those whose time had come at a moment, Unix milliseconds; returns how many went.

        Those of a conversation that somebody drives wait until nobody does.
        """
        if not self.hours:
            return 0
        from angelia.store.log.erase import remove_unreferenced

        before = upto - self.hours * _HOUR_MS
        since = int(await self.key_value.get(_UPTO, "0"))
        found, upto = await self.db.read(lambda connection: rows_with_pictures(connection, since, before))
        freed: set[str] = set()
        for conversation, place in found.items():
            try:
                freed |= await self._of(conversation, before)
            except HeldElsewhere:
                upto = min(upto, place - 1)
            except NotFound:  # it was erased meanwhile
                continue
        removed = await remove_unreferenced(self.db, sorted(freed), self.blobs.remove)
        await self.blobs.erased(removed)
        for sha256 in removed:
            await self.renditions.forget(sha256)
        if upto > since:
            await self.key_value.put(_UPTO, str(upto))
        return len(removed)

    async def _of(self, conversation: ConversationId, before: int) -> set[str]:
        lease, entries, _ = await self.transcript.take_up(conversation, "upkeep", 0, before)
        try:
            going = unwanted(entries, before)
            if going:
                await self.transcript.append(conversation, [BytesLetGo(going, self.hours)], lease=lease)
        finally:
            await lease.release()
        return {one.sha256 for one in going}


def unwanted(log: Sequence[Entry], before: int) -> tuple[LetGo, ...]:
    """The screenshots of a conversation, all older than the moment `before`, that nothing else in it speaks of."""
    calls = {call.id for call in _calls(log) if call.name == LOOKING}
    taken: dict[str, LetGo] = {}
    young: set[str] = set()
    names: dict[str, str] = {}
    others = list[Entry]()
    for entry in log:
        if isinstance(entry.fact, BytesLetGo):
            for one in entry.fact.pictures:
                taken.pop(one.sha256, None)
            continue
        if not isinstance(entry.fact, ToolFinished) or entry.fact.call not in calls:
            others.append(entry)
            continue
        for part, media in media_parts(entry.fact):
            sha256 = media.blob.sha256
            if media.media is not MediaKind.IMAGE:
                continue
            names[sha256] = media.name
            if entry.at > before:
                young.add(sha256)  # it was taken again since, and goes with that one
            else:
                taken[sha256] = LetGo(sha256, entry.seq, part, label(media))
    return tuple(
        one for sha256, one in taken.items() if sha256 not in young and not _spoken_of(others, sha256, names[sha256])
    )


def _spoken_of(others: Iterable[Entry], sha256: str, name: str) -> bool:
    """Whether anything refers to a picture, names it by its digits, or a person's words by its name."""
    digits = sha256[:_SHOWN].encode()
    for entry in others:
        fact = entry.fact
        if isinstance(fact, ViewMoved):
            continue  # our own lines
        if any(ref.sha256 == sha256 for ref in blobs_in(fact)) or digits in codec.encode(fact):
            return True
        words = [fact.text] if isinstance(fact, Pinned) else _words(fact) if isinstance(fact, UserSaid) else []
        if name and any(name in text for text in words):
            return True
    return False


def _words(fact: UserSaid) -> list[str]:
    return [part.text for part in fact.parts if isinstance(part, Text)]


def _calls(log: Iterable[Entry]) -> list[ToolCall]:
    said = (entry.fact for entry in log if isinstance(entry.fact, ModelSaid))
    return [part for fact in said for part in fact.parts if isinstance(part, ToolCall)]
