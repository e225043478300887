"""Which conversation a history belongs to that a program sends with every request.

What users said before, and the last answer, are what a program keeps of a conversation. So the conversation is found by
a digest of the first under which its last message was stored, and goes on only if that message is still its last, and
was answered with these words. Whoever goes on from an earlier place (an answer made anew, a message changed) begins a
new conversation, which is told the past.
"""

import hashlib

import msgspec
from msgspec import Struct

from angelia.core import entry as e
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.faces.web.v1.chat_messages import ChatHistory, ChatMessage, canonical
from angelia.faces.web.v1.files import shown_words
from angelia.faces.web.v1.turn import turn_result
from angelia.store.tables.key_value import KeyValue

_PREFIX = "api-past:"


class KnownPast(Struct, frozen=True):
    """The conversation that a history belongs to, the key of its last message, and how the program wanted it."""

    conversation: ConversationId
    message: str
    instructions: str


class ChatPast:
    """Kept in the store, so that it outlives us: a row for each conversation."""

    def __init__(self, key_value: KeyValue, conversations: WebConversations) -> None:
        self._key_value, self._conversations = key_value, conversations

    async def find(self, key: ApiKey, asked: ChatHistory) -> KnownPast | None:
        """The conversation that these words go on with; None where it is none of ours, or has moved on."""
        known = await self._key_value.get_as(KnownPast, _name(key, asked.past)) if asked.past else None
        if not known:
            return None
        try:
            session = await self._conversations.session(known.conversation)
        except NotFound:  # it was deleted
            return None
        entries = session.log.entries
        said = next((entry for entry in reversed(entries) if isinstance(entry.fact, e.UserSaid)), None)
        if said is None or not isinstance(said.fact, e.UserSaid) or said.fact.key != known.message:
            return None
        begun = next(entry.seq for entry in reversed(entries) if isinstance(entry.fact, e.UserSaid | e.ResultsBrought))
        result = turn_result(entries, begun)
        theirs = asked.past[-1].words.strip()
        same = result.ending is not None and theirs.endswith(shown_words(known.conversation, result).strip())
        return known if same else None

    async def keep(self, key: ApiKey, asked: ChatHistory, known: KnownPast) -> None:
        """What was asked belongs to this conversation, from its message of this key on."""
        await self._key_value.put(_name(key, asked.past + asked.said), msgspec.json.encode(known).decode())
        if asked.past:
            await self._key_value.forget(_name(key, asked.past))

    async def keep_again(self, key: ApiKey, asked: ChatHistory, known: KnownPast) -> None:
        """As `keep`, for a message that came again: we may have been killed between storing it and keeping this. A
        conversation that began later with the same words keeps its place.
        """
        kept = await self._key_value.get_as(KnownPast, _name(key, asked.past + asked.said))
        if not kept or kept.conversation < known.conversation:
            await self.keep(key, asked, known)


def instructions_digest(asked: ChatHistory) -> str:
    """How the program wants it, as a digest; empty where it says nothing."""
    return hashlib.sha256(asked.instructions.encode()).hexdigest() if asked.instructions else ""


def _name(key: ApiKey, messages: tuple[ChatMessage, ...]) -> str:
    digest = hashlib.sha256(canonical(messages)).hexdigest()
    return f"{_PREFIX}{key.name}:{digest}"
