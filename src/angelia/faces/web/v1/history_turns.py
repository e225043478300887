"""The turns that programs begin which send the whole history with every request."""

from typing import TYPE_CHECKING

from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.request import RouteRequest
from angelia.faces.web.v1.chat_messages import ChatHistory, ChatMessage, asked_in, contents, told_of_past
from angelia.faces.web.v1.chat_past import ChatPast, KnownPast, instructions_digest
from angelia.faces.web.v1.refusals import ApiRefused
from angelia.faces.web.v1.turn import FollowedTurn
from angelia.faces.web.v1.turns import ApiTurns, message_key
from angelia.faces.web.web_conversations import WebConversations

if TYPE_CHECKING:
    from angelia.service.app import App


class HistoryTurns:
    """Begun in the conversation that a history is of, or in a new one."""

    def __init__(self, app: "App", conversations: WebConversations, turns: ApiTurns) -> None:
        self._intake, self._turns = app.intake, turns
        self._past = ChatPast(app.key_value, conversations)

    async def begun(self, request: RouteRequest, messages: list[ChatMessage], named: str) -> FollowedTurn:
        """The turn that the last messages of this history open, or have opened under the same key of a message.

        Raises:
            ApiRefused, AngeliaError: nothing was stored; says why.
        """
        assert request.key is not None
        key = request.key
        model = await self._turns.model(named)
        stored_as, asked = message_key(request), asked_in(messages)
        said = await contents(list(asked.said), self._intake)
        async with self._turns.lock(stored_as):
            if place := await self._turns.repeated(key, stored_as):
                return same_message(await self._turns.again(key, place), said)
            await self._turns.require_money(key)
            async with self._turns.lock(key.name):
                return await self._go_on(key, asked, said, stored_as, model)

    async def _go_on(
        self, key: ApiKey, asked: ChatHistory, said: list[Content], stored_as: str, model: str
    ) -> FollowedTurn:
        """In the conversation that the past belongs to, or in a new one that is told of it."""
        known = await self._past.find(key, asked)
        wanted = instructions_digest(asked)
        parts: list[Content] = []
        if wanted and wanted != (known.instructions if known else ""):
            parts.append(Text(f"[How the program at this door wants it]\n\n{asked.instructions}\n\n[What is said]"))
        if asked.past and known is None:
            parts += await told_of_past(asked.past, self._intake)
        there = known.conversation if known else None
        turn = await self._turns.begin(key, there, [*parts, *said], stored_as, model)
        await self._past.keep(key, asked, KnownPast(turn.conversation, stored_as, wanted))
        return turn


def same_message(turn: FollowedTurn, said: list[Content]) -> FollowedTurn:
    """A turn that was begun earlier under the same key, if it was by the same message.

    Raises:
        ApiRefused: it was by another one.
    """
    fact = turn.session.log.entries[turn.seq - 1].fact
    assert isinstance(fact, e.UserSaid)
    if said and fact.parts[-len(said) :] != tuple(said):
        raise ApiRefused(
            422,
            "This Idempotency-Key was used for another message.",
            then="A new message needs a new key.",
            code="idempotency_key_reused",
        )
    return turn
