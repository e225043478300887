"""Where one conversation works: its sandbox, the broker's bench, and what its tools remember."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Media, ToolCall
from angelia.engine.background import Background
from angelia.engine.live import Resting, Working
from angelia.engine.toolrun import Bench
from angelia.policy.egress import judge_address, judge_url
from angelia.sandboxes.place import Place
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.rooms import fit_workspace, open_sandbox
from angelia.service.delivery import TERMINAL
from angelia.service.judging import MayAsk, Standing, anybody, judging
from angelia.service.presets import kept
from angelia.service.redaction import RedactingBlobs
from angelia.service.sessions import Session
from angelia.service.speakers import guests_in
from angelia.service.tenancy import Tenancy, move_in
from angelia.service.transfers import in_words, watched
from angelia.store.presence import Presence
from angelia.tools.fetching import Fetcher
from angelia.tools.port import Calling
from angelia.tools.processes import all_told

if TYPE_CHECKING:
    from angelia.service.assemble import House


class Workplace(Struct, frozen=True):
    """A conversation's place. `state` is its tools' memory in this process, `tenancy` tells others that it is open."""

    sandbox: Sandbox
    bench: Bench
    state: dict[str, Any]
    tenancy: Presence

    async def close(self) -> None:
        """End what runs, and wait until its end is in the log."""
        await self.sandbox.close()
        await all_told(self.state)
        self.tenancy.close()


def workplace(house: "House", session: Session, *, approver_present: bool, may_ask: MayAsk = anybody) -> Workplace:
    """Open the sandbox that a conversation began in, with the rules that hold there.

    Raises:
        ConfigError: its preset is gone.
        SandboxError: the workspace is gone, or cannot be one, or the sandbox cannot be had; no other is taken.
    """
    settings, ranges = house.loaded.config.sandbox, house.loaded.config.policy.allow_ranges
    # Conversations of before this was so, and folders that have become a home since, are refused here.
    fit_workspace(session.sandbox, Path(session.workspace), house.loaded.home)
    fetcher = Fetcher(judge_url, lambda address: judge_address(address, ranges))
    place = Place(
        session.conversation,
        session.workspace,
        home=house.loaded.home,
        state=house.running,
        progress=lambda text: session.live.emit(Resting(house.clock(), text)),
        confine=settings.confine,
        addresses=fetcher.addresses_behind,
    )
    at = kept(settings, session.sandbox, session.preset)
    inner = open_sandbox(at.spec, place, at.rooms)
    sandbox = session.around(inner)
    standing = Standing(
        session.conversation,
        session.owner,
        f"{at.preset}={at.spec}" if at.preset else at.spec,
        session.workspace,
        address=lambda: address_of(session),
        mode=lambda: house.mode(session),
        entries=lambda: session.log.entries,
        approver_present=approver_present,
        may_ask=may_ask,
        granted_to_all=lambda: set(guests_in(session)) <= {session.owner},
    )
    judge = judging(house.loaded, standing, sandbox, house.grants)
    state: dict[str, Any] = {}
    background = Background(session.log, house.redaction.text, session.life)
    callings = _callings(house, session, sandbox, background, state, fetcher)
    put = house.inboxes.of(inner, at.spec, lambda text: session.live.emit(Resting(house.clock(), text)))
    held = Tenancy(session.conversation, at.spec, session.workspace, house.clock())
    bench = Bench(house.registry, judge, callings, house.redaction.text, background, put)
    return Workplace(sandbox, bench, state, move_in(house.running, held))


def _callings(
    house: "House",
    session: Session,
    sandbox: Sandbox,
    background: Background,
    state: dict[str, Any],
    fetcher: Fetcher,
) -> Callable[[ToolCall, str], Calling]:
    most_sent = house.loaded.config.files.max_sent_bytes
    blobs = RedactingBlobs(house.blobs, house.redaction)

    async def to_media(data: bytes, name: str) -> Media:
        return await house.intake.to_media(data, name)

    def calling(call: ToolCall, answer: str) -> Calling:
        address = address_of(session)

        def progress(text: str) -> None:
            session.live.emit(Working(call.id, house.redaction.text(text)))

        async def take(content: AsyncIterator[bytes], name: str, size: int) -> Media:
            told = watched(content, size, in_words(name, lambda text: progress(f"{text}\n")))
            return await house.intake.stream_to_media(told, name, limit=most_sent)

        return Calling(
            conversation=session.conversation,
            call=call.id,
            sandbox=sandbox,
            blobs=blobs,
            entries=session.log.entries,
            address=address,
            progress=progress,
            fetch=fetcher.fetch,
            to_media=to_media,
            take=take,
            most_sent=most_sent,
            state=state,
            later=lambda outcome: background.ended(call.id, outcome, address),
            answer=answer,
        )

    return calling


def address_of(session: Session) -> e.Address:
    """Where the open turn's answer goes: to whoever opened it."""
    opened = session.turn.opened
    said = session.log.entries[opened - 1].fact if opened else None
    return said.address if isinstance(said, e.UserSaid) else TERMINAL
