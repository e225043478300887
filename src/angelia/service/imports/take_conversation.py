"""Takes over a conversation: all of it that is new, in one commit."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import BlobRef, Media, MediaKind
from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER, Principal
from angelia.core.text import clean, one_line
from angelia.service.imports.conversation_facts import LONG_RESULT, ImportedFrom, TimedFact, conversation_facts
from angelia.service.imports.port import OldConversation, OldMessage, OldReply, OldResult, OldWords
from angelia.service.imports.taking import ImportTarget, KnownItem, LeftItem, TakenFrom, TakenItem, TakingOutcome

_MOST_TEXT = 64_000_000
"""Characters of one conversation."""


async def take_conversation(target: ImportTarget, file: TakenFrom, found: OldConversation) -> TakingOutcome:
    """Take what is new of a conversation.

    Raises:
        StoreError: it could not be stored; nothing of it was.
    """
    if not any(isinstance(one, OldWords | OldReply) for one in found.messages):
        return LeftItem("no conversation is in it")
    if sum(map(_length, found.messages)) > _MOST_TEXT:
        return LeftItem(f"the conversation {found.record} has more than {_MOST_TEXT:,} characters")
    person = _person(target, found.person)
    if isinstance(person, LeftItem):
        return person
    conversation = file.conversation(found.record)
    before = await target.imports(conversation)
    known = before[-1].count if before else 0
    if before and before[-1].file != file.file:
        return LeftItem(f"the same conversation was taken from {before[-1].file}")
    if known > len(found.messages) or (before and before[-1].digest != _digest(found.messages[:known])):
        return LeftItem("it was taken before, and has been rewritten there since: what was taken stays as it was")
    fresh = found.messages[known:]
    if not fresh:
        return KnownItem()
    entries = await target.transcript.entries(conversation) if before else []
    if any(isinstance(one.fact, e.Opening) and one.fact.address.door != file.agent for one in entries):
        return LeftItem(f"it went on here since; left: {counted(len(fresh), 'message')} that it went on with there")
    brought = sum(len(_pictures(one)) for one in fresh)
    taken = TakenItem("conversation", 0 if before else 1, len(fresh), brought)
    if target.dry:
        return taken
    clean_ones = [_cleaned(target, one) for one in fresh]
    whole = await _whole(target, clean_ones)
    pictures, damaged = await _kept_pictures(target, fresh)
    taken = replace(taken, pictures=brought - len(damaged), left=tuple(damaged))
    opened = [] if before else [TimedFact(target.opened(file.agent, person, found.folder), found.at)]
    here = e.Imported(file.agent, clean(file.file), clean(found.record), len(found.messages), _digest(found.messages))
    seq = len(entries) + len(opened) + 2
    origin = ImportedFrom(file.agent, str(conversation), person)
    said = conversation_facts(origin, clean_ones, first=known, seq=seq, whole=whole, pictures=pictures)
    facts = [*opened, TimedFact(here, found.at or fresh[0].at), *said]
    added = await target.transcript.append(conversation, [one.fact for one in facts], at=[one.at for one in facts])
    return taken if added else KnownItem()  # another run was first


def _person(target: ImportTarget, person: str) -> Principal | LeftItem:
    """Whose it is here, or why it is left."""
    if not person or person in target.mine:
        return OWNER
    if not target.people:
        return LeftItem(f"it is the conversation of {one_line(person, 80)}")
    door, _, own = person.partition(":")
    try:
        return Principal(door, own)
    except ValueError as error:
        return LeftItem(str(error))


def _length(message: OldMessage) -> int:
    return len(message.text) + (
        sum(len(one.arguments) for one in message.calls) if isinstance(message, OldReply) else 0
    )


def _digest(messages: Sequence[OldMessage]) -> str:
    digest = sha256()
    for one in messages:
        digest.update(msgspec.json.encode((type(one).__name__, one)))
    return digest.hexdigest()


def _cleaned(target: ImportTarget, message: OldMessage) -> OldMessage:
    """Without keys, and without what cannot be stored."""
    safe = replace(message, text=target.redact(clean(message.text)))
    if isinstance(safe, OldReply):
        calls = (
            replace(one, name=_name(one.name), arguments=target.redact(clean(one.arguments))) for one in safe.calls
        )
        return replace(safe, calls=tuple(calls), model=one_line(clean(safe.model), 80))
    return safe


def _name(name: str) -> str:
    """A tool's name with the characters that every wire takes in one."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in name[:40])


async def _whole(target: ImportTarget, messages: Sequence[OldMessage]) -> dict[int, BlobRef]:
    long = [(n, one) for n, one in enumerate(messages) if isinstance(one, OldResult) and len(one.text) > LONG_RESULT]
    return {number: await target.blobs.put(one.text.encode(), mime="text/plain") for number, one in long}


def _pictures(message: OldMessage) -> tuple[bytes, ...]:
    return () if isinstance(message, OldReply) else message.pictures


async def _kept_pictures(
    target: ImportTarget, messages: Sequence[OldMessage]
) -> tuple[dict[int, list[Media]], list[str]]:
    """The pictures by the number of their message, and why others were left."""
    kept: dict[int, list[Media]] = {}
    damaged: list[str] = []
    for number, message in enumerate(messages):
        for data in _pictures(message):
            try:
                media = await target.intake.to_media(data, "")
            except BadInput as error:
                damaged.append(f"a picture: {error.what}")
                continue
            if media.media is MediaKind.IMAGE:
                kept.setdefault(number, []).append(media)
            else:
                damaged.append("a picture that is none")
    return kept, damaged
