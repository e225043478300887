"""The turns that programs begin: whose, with which model, within which caps; and found again by their ids."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Content, Media
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId, DeliveryId, sortable_id
from angelia.engine.state import waits_for_program
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.asgi.request import RouteRequest
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.faces.web.v1.program_calls import brought_before
from angelia.faces.web.v1.refusals import ApiRefused, unknown
from angelia.faces.web.v1.turn import FollowedTurn
from angelia.faces.web.v1.turn_place import TurnPlace
from angelia.service.conversation.session import Session
from angelia.service.models.choice import choose
from angelia.service.people.budgets import budget_of, offered
from angelia.tools.program.handed_over import offered_tools

if TYPE_CHECKING:
    from angelia.service.app import App

USUAL = "angelia"
"""The name of whichever model the settings name."""

_MOST_KEY = 200


def message_key(request: RouteRequest) -> str:
    """The key under which a request's message is stored, so that a repeat of it is absorbed; without one of the
    program's it has one of ours, which the request knows from now on.

    Raises:
        ApiRefused: the header `Idempotency-Key` is too long.
    """
    assert request.key is not None
    given = request.headers.get("idempotency-key", "")
    if len(given) > _MOST_KEY:
        raise ApiRefused(400, f"Idempotency-Key has {len(given)} characters; at most {_MOST_KEY} are taken.")
    request.message_key = given or sortable_id()
    return f"{request.key.name}:{request.message_key}"


class ProgramMessage(Struct, frozen=True):
    """What a program says: words and files of its own, or results of calls that it was handed, or both.

    `told` is what it quotes of a past that stands in no conversation of ours. It is stored under `stored_as`.
    """

    stored_as: str
    model: str
    said: Sequence[Content] = ()
    told: Sequence[Content] = ()
    results: Sequence[e.BroughtResult] = ()
    offers: e.ToolsOffered = e.ToolsOffered(())


class ApiTurns:
    """Begun and found again; every look into the store is by the key's principal."""

    def __init__(self, app: "App", conversations: WebConversations) -> None:
        self._app, self._conversations = app, conversations
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # -- models -------------------------------------------------------------------------------------------------------

    async def models(self, key: ApiKey) -> dict[str, str]:
        """The models that a program may name, and what each is: its presets, else the settings' own and its fallbacks.

        Raises:
            ConfigError: there is no model.
        """
        config = self._app.loaded.config
        if presets := offered(config, key.principal, (), "model"):
            return {USUAL: presets[0]} | {spec: spec for spec in presets}
        own = (await choose(config.model, self._app.model_catalog, self._app.key_value, None)).spec
        return {USUAL: own} | {spec: spec for spec in (own, *config.fallback)}

    async def model(self, key: ApiKey, named: str) -> str:
        """What a name of a model stands for.

        Raises:
            ApiRefused: it is none of those that are offered.
        """
        models = await self.models(key)
        if named not in models:
            raise ApiRefused(
                404,
                f"There is no model {named[:80]!r} here.",
                f"These are: {', '.join(models)}.",
                code="model_not_found",
                param="model",
            )
        return models[named]

    # -- begun --------------------------------------------------------------------------------------------------------

    def lock(self, what: str) -> asyncio.Lock:
        """Held while it is decided where a message goes, so that two of the same are one."""
        return self._alone.setdefault(what, asyncio.Lock())

    async def require_money(self, key: ApiKey) -> None:
        """What a key may cost today is not spent.

        Raises:
            ApiRefused: it is.
        """
        quota = "insufficient_quota"
        spent = await self._app.budgets.today(budget_of(key.principal, key.day_cost)) if key.day_cost else 0
        if spent and spent >= key.day_cost * 1e6:
            told = f"The key {key.name} has cost ${spent / 1e6:.4f} today, and its cap is ${key.day_cost:g}."
            raise ApiRefused(429, told, "The day is UTC's.", code=quota)
        if told := await self._app.budgets.spent(key.principal):
            raise ApiRefused(429, told, code=quota)

    async def begin(self, key: ApiKey, conversation: ConversationId | None, message: ProgramMessage) -> FollowedTurn:
        """Store what a program says under a key that nothing is stored under, and have it answered.

        Raises:
            ApiRefused: something runs there already.
            BadInput: there is nothing in it.
            ConfigError, SandboxError, KeyMissing: it cannot be answered as configured; nothing was stored.
            StoreError: it could not be stored.
        """
        own = conversation or await self._conversations.begin_for(key)
        async with self.lock(f"in {own}"), self._conversations.watched(own):  # the second of two at once finds it busy
            session = await self._conversations.session(own)
            waits = session.turn.opened or session.turn.unread
            if message.results:
                if known := brought_before(session.log.entries, message.results):
                    return await self.again(key, TurnPlace(own, known))
                if not waits_for_program(session.turn):
                    raise busy()
            elif waits:
                raise owed_results() if waits_for_program(session.turn) else busy()
            elif await self._conversations.model(own) != message.model:
                await self._conversations.change_model(own, message.model)
            turn = FollowedTurn(self._conversations, session)
            offers = [message.offers] if offered_tools(session.log.entries) != message.offers else []
            await _store(session, key, message, offers)
            said = (one.seq for one in reversed(session.log.entries) if key_of(one) == message.stored_as)
            turn.begin_at(next(said))
            return turn

    # -- found --------------------------------------------------------------------------------------------------------

    async def repeated(self, key: ApiKey, stored_as: str) -> TurnPlace | None:
        """Where a message of this key stands already."""
        found = await self._app.doors.received(key.principal, e.API, stored_as)
        return TurnPlace(*found) if found else None

    async def again(self, key: ApiKey, place: TurnPlace) -> FollowedTurn:
        """A turn that was begun earlier, in this life or another.

        Raises:
            ApiRefused: there is none there that the key may see.
        """
        try:
            await self._app.transcript.summary(key.principal, place.conversation)
        except NotFound:
            raise unknown(place.named("id")) from None
        session = await self._conversations.session(place.conversation)
        entries = session.log.entries
        if place.seq > len(entries) or not key_of(entries[place.seq - 1]):
            raise unknown(place.named("id"))
        turn = FollowedTurn(self._conversations, session)
        turn.begin_at(place.seq)
        return turn

    async def given(self, key: ApiKey, turn: FollowedTurn, deliveries: Sequence[DeliveryId]) -> None:
        """These were given to the program: that is their receipt. What is settled already stays as it is."""
        settled = {
            one.fact.id for one in turn.session.log.entries[turn.seq :] if isinstance(one.fact, e.DeliverySettled)
        }
        for one in deliveries:
            if one not in settled:
                detail = f"given to {key.principal}"
                await turn.session.record(e.DeliverySettled(one, e.DeliveryStatus.SENT, detail=detail))


def busy() -> ApiRefused:
    """A turn runs where another one was to begin."""
    return ApiRefused(
        409, "The answer before this one is still being made.", then="Wait for it, or cancel it.", code="busy"
    )


def owed_results() -> ApiRefused:
    """The model has called tools of the program's, and something else came than what they brought."""
    return ApiRefused(
        409,
        "The last answer called tools of yours, and their results are waited for.",
        then="Bring them, or cancel it.",
        code="results_owed",
    )


async def _store(session: Session, key: ApiKey, message: ProgramMessage, offers: list[e.ToolsOffered]) -> None:
    address = e.Address(e.API, session.conversation)
    said = e.UserSaid(tuple(message.said), key.principal, address, message.stored_as)
    if not message.results:
        told = tuple(message.told)
        past = [replace(said, parts=told, key=f"{said.key}:past", forwarded=True)] if told else []
        if not any(isinstance(part, Media) or part.text.strip() for part in said.parts):
            raise BadInput("The message is empty.", then="Say something, or bring a file.")
        await session.take_in(said, *offers, *past)
        return
    brought = e.ResultsBrought(tuple(message.results), key.principal, address, message.stored_as)
    if message.said:
        await session.take_in(replace(said, key=f"{said.key}:said"), *offers, brought)
    else:
        await session.record(*offers, brought)


def key_of(entry: e.Entry) -> str:
    """The key under which a program's message or results are stored; empty for anything else."""
    return entry.fact.key if isinstance(entry.fact, e.UserSaid | e.ResultsBrought) else ""
