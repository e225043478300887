"""The turns that programs begin: whose, with which model, within which caps; and found again by their ids."""

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Content
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId, DeliveryId, sortable_id
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.request import RouteRequest
from angelia.faces.web.v1.refusals import ApiRefused, unknown
from angelia.faces.web.v1.turn import FollowedTurn
from angelia.faces.web.web_conversations import API_DOOR, WebConversations
from angelia.service.models.choice import choose

if TYPE_CHECKING:
    from angelia.service.app import App

USUAL = "angelia"
"""The name of whichever model the settings name."""

_DAY_MS = 86_400_000
_MOST_KEY = 200
_PLACE = re.compile(r"[a-z]+[-_]([0-9a-z]{26})[-_]([1-9][0-9]{0,9})", re.ASCII)


class TurnPlace(Struct, frozen=True):
    """Where the message stands that opened a turn."""

    conversation: ConversationId
    seq: int

    def named(self, kind: str) -> str:
        """The id by which programs know the turn, such as resp_01jd4v0wkq9m7zx3t5c8r2n6hb_2."""
        return f"{kind}_{self.conversation}_{self.seq}"


def place_in(own: str) -> TurnPlace:
    """The place that an id names; the inverse of `TurnPlace.named`.

    Raises:
        ApiRefused: it names none.
    """
    found = _PLACE.fullmatch(own)
    if found is None:
        raise unknown(own)
    return TurnPlace(ConversationId(found[1]), int(found[2]))


def message_key(request: RouteRequest) -> str:
    """The key under which a request's message is stored, so that a repeat of it is absorbed.

    Raises:
        ApiRefused: the header `Idempotency-Key` is too long.
    """
    assert request.key is not None
    given = request.headers.get("idempotency-key", "")
    if len(given) > _MOST_KEY:
        raise ApiRefused(400, f"Idempotency-Key has {len(given)} characters; at most {_MOST_KEY} are taken.")
    return f"{request.key.name}:{given or sortable_id()}"


class ApiTurns:
    """Begun and found again; every look into the store is by the key's principal."""

    def __init__(self, app: "App", conversations: WebConversations) -> None:
        self._app, self._conversations = app, conversations
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # -- models -------------------------------------------------------------------------------------------------------

    async def models(self) -> dict[str, str]:
        """The models that a program may name, and what each is: the settings' own and its fallbacks.

        Raises:
            ConfigError: there is no model.
        """
        config = self._app.loaded.config
        own = (await choose(config.model, self._app.model_catalog, self._app.key_value, None)).spec
        return {USUAL: own} | {spec: spec for spec in (own, *config.fallback)}

    async def model(self, named: str) -> str:
        """What a name of a model stands for.

        Raises:
            ApiRefused: it is none of those that are offered.
        """
        models = await self.models()
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
        if not key.day_cost:
            return
        spent = await self._app.transcript.spent(key.principal, self._app.clock() // _DAY_MS * _DAY_MS)
        if spent.cost >= key.day_cost * 1e6:
            raise ApiRefused(
                429,
                f"The key {key.name} has cost ${spent.cost / 1e6:.4f} today, and its cap is ${key.day_cost:g}.",
                "The day is UTC's.",
                code="insufficient_quota",
            )

    async def begin(
        self, key: ApiKey, conversation: ConversationId | None, parts: Sequence[Content], stored_as: str, model: str
    ) -> FollowedTurn:
        """Store a message under a key that nothing is stored under, and have it answered.

        Raises:
            ApiRefused: something runs there already.
            BadInput: there is nothing in it.
            ConfigError, SandboxError, KeyMissing: it cannot be answered as configured; nothing was stored.
            StoreError: it could not be stored.
        """
        own = conversation or await self._conversations.begin_for(key)
        async with self._conversations.watched(own):
            if await self._conversations.model(own) != model:
                await self._conversations.change_model(own, model)
            session = await self._conversations.session(own)
            if session.turn.opened or session.turn.unread:
                raise busy()
            turn = FollowedTurn(self._conversations, session)
            address = e.Address(API_DOOR, own)
            await session.say(parts, address=address, sender=key.principal, key=stored_as)
            said = (one.seq for one in reversed(session.log.entries) if _key_of(one) == stored_as)
            turn.begin_at(next(said))
            return turn

    # -- found --------------------------------------------------------------------------------------------------------

    async def repeated(self, key: ApiKey, stored_as: str) -> TurnPlace | None:
        """Where a message of this key stands already."""
        found = await self._app.doors.received(key.principal, API_DOOR, stored_as)
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
        if place.seq > len(entries) or not isinstance(entries[place.seq - 1].fact, e.UserSaid):
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


def _key_of(entry: e.Entry) -> str:
    return entry.fact.key if isinstance(entry.fact, e.UserSaid) else ""
