"""The command line with somebody at hand who says yes: in the conversation where a person speaks, and only there."""

import asyncio
from contextlib import suppress

from angelia.__main__ import main
from angelia.core.entry import Address, ApprovalAsked
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.engine.driver import BoundModel
from angelia.engine.live import Committed, LiveEvent
from angelia.policy.approvers import ApproversOf, owner_at
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.session import Session


def approving() -> None:
    """`angelia ask`, where somebody answers what the conversation asks, of itself and of its children."""
    employ = Conversations.employ

    async def employing(self: Conversations, session: Session, model: str, *, approvers: ApproversOf) -> BoundModel:
        if session.terms:
            return await employ(self, session, model, approvers=approvers)
        tasks: set[asyncio.Task[None]] = set()

        def see(event: LiveEvent) -> None:
            if isinstance(event, Committed) and any(isinstance(entry.fact, ApprovalAsked) for entry in event.entries):
                yes()

        def yes() -> None:
            tasks.update(asyncio.create_task(_approve(session, asked)) for asked in session.questions())

        session.live.watch(see)
        yes()
        return await employ(self, session, model, approvers=owner_at(Address("terminal")))

    Conversations.employ = employing  # type: ignore[method-assign,assignment]  # `ask` itself has nobody to ask
    main()


async def _approve(session: Session, asked: ApprovalAsked) -> None:
    with suppress(BadInput):  # it is answered already
        await session.approve(asked, by=OWNER)
