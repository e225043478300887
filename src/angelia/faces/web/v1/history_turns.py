"""The turns that programs begin or go on with, whether they send what is new alone or the whole history each time."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.context.own_words import INSTRUCTIONS
from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.asgi.request import RouteRequest
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.faces.web.v1.chat_messages import ChatHistory, ChatMessage, asked_in, contents, told_of_past
from angelia.faces.web.v1.chat_past import ChatPast, KnownPast, instructions_digest
from angelia.faces.web.v1.program_calls import brought_before, call_of, conversation_of, result_of, waits_for
from angelia.faces.web.v1.refusals import ApiRefused
from angelia.faces.web.v1.turn import FollowedTurn
from angelia.faces.web.v1.turns import ApiTurns, ProgramMessage, message_key

if TYPE_CHECKING:
    from angelia.service.app import App

Where = Callable[[], Awaitable[ConversationId | None]]
"""Finds the conversation that a program names itself; None where it names none."""


class HistoryTurns:
    """Begun in the conversation that a history is of, or in a new one."""

    def __init__(self, app: "App", conversations: WebConversations, turns: ApiTurns) -> None:
        self._transcript, self._intake = app.transcript, app.intake
        self._turns, self._conversations = turns, conversations
        self._past = ChatPast(app.key_value, conversations)

    async def begun(
        self,
        request: RouteRequest,
        messages: list[ChatMessage],
        named: str,
        offers: e.ToolsOffered,
        where: Where | None = None,
    ) -> FollowedTurn:
        """The turn that the last messages of this history open or go on with, or have under the same key of a message.

        `where` is for a protocol in which a program may name the conversation.

        Raises:
            ApiRefused, AngeliaError: nothing was stored; says why.
        """
        assert request.key is not None
        key, asked = request.key, asked_in(messages)
        stored_as = message_key(request)
        message = ProgramMessage(stored_as, await self._turns.model(key, named), offers=offers)
        message = replace(message, said=await contents(list(asked.said), self._intake))
        async with self._turns.lock(stored_as):
            if place := await self._turns.repeated(key, stored_as):
                turn = same_message(await self._turns.again(key, place), message, asked)
                if where is None and asked.said:
                    await self._past.keep_again(key, asked, _known(turn, asked, message))
                return turn
            await self._turns.require_money(key)
            async with self._turns.lock(key.name):
                if asked.results and (there := await self._waiting(key, asked)):
                    return await self._bring(key, there, asked, message)
                if where and (there := await where()):
                    return await self._turns.begin(key, there, await self._told(asked, message))
                return await self._go_on(key, asked, message)

    async def _waiting(self, key: ApiKey, asked: ChatHistory) -> ConversationId | None:
        """The conversation that waits for these results, or got just them already; None for none that the key sees."""
        there = conversation_of(asked.results)
        if there is None:
            return None
        try:
            await self._transcript.summary(key.principal, there)
        except NotFound:
            return None
        session = await self._conversations.session(there)
        if waits_for(session.turn, asked.results):
            return there
        return there if brought_before(session.log.entries, await self._results(asked)) else None

    async def _results(self, asked: ChatHistory) -> list[e.BroughtResult]:
        return [
            result_of(call_of(one), await contents([one], self._intake), failed=one.failed) for one in asked.results
        ]

    async def _bring(
        self, key: ApiKey, there: ConversationId, asked: ChatHistory, message: ProgramMessage
    ) -> FollowedTurn:
        turn = await self._turns.begin(key, there, replace(message, results=await self._results(asked)))
        if asked.said:
            await self._past.keep(key, asked, _known(turn, asked, message))
        return turn

    async def _told(self, asked: ChatHistory, message: ProgramMessage) -> ProgramMessage:
        """With the past in it: what a program quotes is somebody's words, and not its own orders. How it wants things
        is its own.
        """
        past = asked.past + asked.results
        told = await told_of_past(past, self._intake) if past else []
        wants = [_wanted(asked)] if asked.instructions else []
        said = [*message.said] or [Text("[It goes on from here.]")]
        return replace(message, said=[*wants, *said], told=told)

    async def _go_on(self, key: ApiKey, asked: ChatHistory, message: ProgramMessage) -> FollowedTurn:
        """In the conversation that the past belongs to, or in a new one that is told of it."""
        known = await self._past.find(key, asked)
        wanted = instructions_digest(asked)
        if known is None:
            message = await self._told(asked, message)
        elif wanted and wanted != known.instructions:
            message = replace(message, said=[_wanted(asked), *message.said])
        turn = await self._turns.begin(key, known.conversation if known else None, message)
        await self._past.keep(key, asked, _known(turn, asked, message))
        return turn


def _known(turn: FollowedTurn, asked: ChatHistory, message: ProgramMessage) -> KnownPast:
    """Where the history of this message goes on: after it, or after the words that came with results of calls."""
    brought = isinstance(turn.session.log.entries[turn.seq - 1].fact, e.ResultsBrought)
    own = f"{message.stored_as}:said" if brought else message.stored_as
    return KnownPast(turn.conversation, own, instructions_digest(asked))


def _wanted(asked: ChatHistory) -> Content:
    return Text(f"{INSTRUCTIONS}\n\n{asked.instructions}\n\n[What is said]")


def same_message(turn: FollowedTurn, message: ProgramMessage, asked: ChatHistory) -> FollowedTurn:
    """A turn that was begun earlier under the same key, if it was by the same message.

    Raises:
        ApiRefused: it was by another one.
    """
    fact = turn.session.log.entries[turn.seq - 1].fact
    said = tuple(message.said)
    match fact:
        case e.ResultsBrought(results=results):
            same = [one.call for one in results] == [call_of(one) for one in asked.results]
        case e.UserSaid(parts=parts):
            same = not said or parts[-len(said) :] == said
        case _:
            same = False
    if not same:
        raise ApiRefused(
            422,
            "This Idempotency-Key was used for another message.",
            then="A new message needs a new key.",
            code="idempotency_key_reused",
        )
    return turn
