"""The conversations that the page drives itself: each with its model, under its caps, until it is left."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait
from angelia.core import entry as e
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.faces.web.api_keys import ApiKeys
from angelia.policy.approvers import Approvers
from angelia.policy.roles import least
from angelia.service.conversation.session import Session
from angelia.service.people.budgets import budget_of
from angelia.service.settings.rules import tighter

if TYPE_CHECKING:
    from angelia.service.app import App

DOOR = "web"


class DrivenConversations:
    """Those of one process. `failed` hears which one cannot be driven any more, and why."""

    def __init__(self, app: "App", keys: ApiKeys, failed: Callable[[ConversationId, Exception], None]) -> None:
        self._app, self._keys = app, keys
        self._failed = failed
        self._own: dict[ConversationId, Session] = {}
        self._guards: dict[ConversationId, asyncio.Task[None]] = {}

    def take(self, session: Session) -> None:
        """One that this door has opened, and may drive."""
        self._own[session.conversation] = session

    def get(self, conversation: ConversationId) -> Session | None:
        """One that was taken; None where another door of this process has it open, or none has."""
        return self._own.get(conversation)

    def waits_for_model(self, conversation: ConversationId) -> bool:
        """Whether one was taken and has no model, or lost it as it failed."""
        return conversation in self._own and conversation not in self._guards

    async def employ(self, session: Session, model: str) -> None:
        """Have this model drive it from now on, under the caps of whose it is.

        Raises:
            ConfigError, SandboxError, KeyMissing: as `Conversations.employ`.
        """
        key = await self._keys.of(session.owner)
        caps = self._app.loaded.config.limits
        own = tighter(caps.max_cost, tighter(key.max_cost, key.day_cost)) if key else 0
        await self._app.conversations.employ(
            session,
            model,
            approvers=partial(self._approvers, session),
            limits=replace(caps, max_cost=own) if key else None,
            budgets=(budget_of(key.principal, key.day_cost),) if key else (),
        )
        if guard := self._guards.pop(session.conversation, None):
            guard.cancel()
        self._guards[session.conversation] = asyncio.create_task(self._guard(session))

    async def leave(self, conversation: ConversationId) -> None:
        """Drive it no more; an open turn stays open in the log."""
        session = self._own.pop(conversation, None)
        if guard := self._guards.pop(conversation, None):
            await cancel_and_wait(guard)
        if session:
            await self._app.conversations.leave(session)

    async def close(self) -> None:
        """Leave all of them."""
        for conversation in tuple(self._own):
            await self.leave(conversation)

    async def _approvers(self, session: Session, _: e.QuestionKind, speakers: Sequence[Principal]) -> Approvers:
        """The owner, on the page. In the turn of a key that is a guest, or of somebody who is no key, what needs a yes
        is refused at once, and the model is told.
        """
        keys = [await self._keys.of(one) for one in speakers]
        role = least(key.role if key else None for key in keys)
        return Approvers((OWNER,), e.Address(DOOR, session.conversation), role)

    async def _guard(self, session: Session) -> None:
        """Say so when it cannot be driven any more."""
        try:
            await session.driven()
        except Exception as error:  # noqa: BLE001 - whoever is told of it says it to people, or logs it
            self._guards.pop(session.conversation, None)
            self._failed(session.conversation, error)
