"""Ways into the command line for these tests: with somebody at hand who says yes, with a rule broken, in trouble."""

import asyncio
import os
import resource
import signal
import sys
from asyncio.selector_events import BaseSelectorEventLoop
from contextlib import suppress

from msgspec.structs import replace

from angelia.__main__ import main
from angelia.core import entry as e
from angelia.core.crash import crash_point, on_crash_point
from angelia.core.entry import Address
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.engine.driver import BoundModel
from angelia.engine.live import Committed, LiveEvent
from angelia.engine.log import Log
from angelia.policy.approvers import ApproversOf, owner_at
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.session import Session
from angelia.store.log.lease import Lease
from angelia.tools.shell.shell import Shell


def approving() -> None:
    """`angelia`, where somebody says yes to every question, and is told when a message is stored."""
    _say_yes()
    _acknowledge(early=False)
    main()


def acknowledging_early() -> None:
    """Broken: a message is acknowledged before it is stored."""
    _say_yes()
    _acknowledge(early=True)
    main()


def splitting_outcomes() -> None:
    """Broken: an outcome and what it sends out are two commits."""
    whole = Log.append

    async def append(log: Log, *facts: e.AnyFact, lease: Lease | None = None, seen: int = 0) -> list[e.Entry]:
        if not any(isinstance(fact, e.DeliveryQueued) for fact in facts):
            return await whole(log, *facts, lease=lease, seen=seen)
        outcome = await whole(log, *facts[:1], lease=lease)
        crash_point("outcome.split")
        return [*outcome, *await whole(log, *facts[1:], lease=lease)]

    Log.append = append  # type: ignore[method-assign,assignment]  # breaking the rule is the point
    approving()


def running_again() -> None:
    """Broken: a command that was started in a dead life is run once more."""
    Shell.traits = replace(Shell.traits, replayable=True)
    approving()


def on_a_disk_that_fills_up() -> None:
    """From SIGUSR1 on no file of it grows beyond what a log needs, as on a full disk; from SIGUSR2 on they do again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for number, most in ((signal.SIGUSR1, _FULL), (signal.SIGUSR2, soft)):
        signal.signal(number, lambda *_, most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard)))
    main()


def interrupted_before_it_is_heard() -> None:
    """Somebody presses Ctrl-C while what they said is being stored."""

    def press(point: str) -> None:
        if point == "say.before_commit":
            os.kill(os.getpid(), signal.SIGINT)

    on_crash_point(press)
    main()


def interrupted_as_its_loop_is_made() -> None:
    """Somebody presses Ctrl-C in the first instant."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    BaseSelectorEventLoop._make_self_pipe = press  # type: ignore[attr-defined]
    main()


_FULL = 1 << 15
"""Bytes: more than what a life says on its errors, and less than any home's log."""


def _say_yes() -> None:
    employ = Conversations.employ

    async def employing(self: Conversations, session: Session, model: str, *, approvers: ApproversOf) -> BoundModel:
        tasks: set[asyncio.Task[None]] = set()

        def see(event: LiveEvent) -> None:
            if isinstance(event, Committed) and any(isinstance(entry.fact, e.ApprovalAsked) for entry in event.entries):
                yes()

        def yes() -> None:
            for asked in session.questions():
                tasks.add(asyncio.create_task(_approve(session, asked)))

        session.live.watch(see)
        yes()
        return await employ(self, session, model, approvers=owner_at(Address("terminal")))

    Conversations.employ = employing  # type: ignore[method-assign,assignment]  # `ask` itself has nobody to ask


async def _approve(session: Session, asked: e.ApprovalAsked) -> None:
    with suppress(BadInput):  # somebody else was faster
        await session.approve(asked, by=OWNER)


def _acknowledge(*, early: bool) -> None:
    take_in = Session.take_in

    def tell() -> None:
        sys.stderr.write("acknowledged\n")
        sys.stderr.flush()

    async def taking_in(session: Session, said: e.UserSaid, *before: e.AnyFact) -> bool:
        if early:
            tell()
        added = await take_in(session, said, *before)
        if not early:
            tell()
        return added

    Session.take_in = taking_in  # type: ignore[method-assign,assignment]  # a channel would acknowledge here; `ask` says nothing
