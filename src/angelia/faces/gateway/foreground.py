"""`angelia gateway` in the foreground: every channel open, a table of how they are, a graceful end."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from functools import partial

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.channels.health import ConnectionHealth
from angelia.core.errors import ConfigError
from angelia.end_signals import asked_to_end
from angelia.faces.gateway.server import GatewayServer
from angelia.faces.words.output import Painted, draw, echo
from angelia.faces.words.paint import Paint, screen
from angelia.faces.words.widths import table
from angelia.http.client import base
from angelia.service.app import App
from angelia.service.chats.gateway import ChannelStatus, Gateway
from angelia.service.chats.gateway_state import tell
from angelia.service.cluster.membership import Membership, MembershipDeps
from angelia.service.cluster.parts import ClockPart, parts_of, refused, shared
from angelia.service.keep_running import keep_running
from angelia.service.metrics import Metrics
from angelia.service.models.choice import must_be_had
from angelia.service.schedule.begun_elsewhere import BegunElsewhere
from angelia.service.schedule.keep_time import keep_time
from angelia.service.schedule.signals import Signals
from angelia.service.traces.contents import spans_with_contents
from angelia.service.traces.export import TraceExport
from angelia.service.traces.spans import spans_of
from angelia.store.tables.machines import ClusterState, Machines, door_of

DRAIN_S = 20.0
"""How long what is under way may take once an end is asked for; what is left goes on at the next start."""
_TABLE_S = 1.0
_COLOURS = {
    ConnectionHealth.CONNECTED: "32",
    ConnectionHealth.CONNECTING: "33",
    ConnectionHealth.WAITING: "33",
    ConnectionHealth.STOPPED: "31",
}


Page = Callable[[Gateway], Awaitable[None]]
"""The page beside the channels, for as long as they run."""


async def run(app: App, only: tuple[str, ...], page: Page | None = None) -> int:
    """Run the channels until somebody asks for an end.

    Raises:
        ConfigError, MissingPart: a channel cannot be opened as configured, or there is no model to answer with.
    """
    await must_be_had(app.loaded.config, app.model_catalog, app.key_value)
    ending = asked_to_end()
    changed = asyncio.Event()
    gateway = Gateway(app.chat_services, changed.set)
    exporting = await _traces(app)
    membership = await _begin(app, gateway, only)
    kept: dict[str, Callable[[], Awaitable[None]]] = {
        "the table of channels": partial(_show, app, gateway, changed),
        "the daily upkeep": app.upkeep.keep_tidy,
    }
    if membership is None:
        kept["the clock"] = partial(keep_time, app.clock_services, gateway)
    else:
        kept["what clocks elsewhere begin"] = BegunElsewhere(gateway, app.schedules, app.transcript).follow
    if exporting:
        kept["the export of traces"] = exporting.follow
    if page:
        kept["the page"] = partial(page, gateway)
    behind = [asyncio.create_task(keep_running(what, work)) for what, work in kept.items()]
    listening = await _listen(app, gateway)
    taking_part = [asyncio.create_task(one) for one in (membership.keep(), membership.work())] if membership else []
    try:
        await _until(ending, [*([listening] if listening else []), *taking_part])
        echo(f"Finishing what is under way, {DRAIN_S:g} s at most… Ctrl-C again ends it at once.")
        over = time.monotonic() + DRAIN_S
        for task in taking_part[1:]:  # nothing more is taken, and what there is is held until it is handed over
            await cancel_and_wait(task)
        if membership is not None:
            await membership.hand_over(DRAIN_S)
        await gateway.drain(max(over - time.monotonic(), 0))
    finally:
        async with AsyncExitStack() as closing:  # backwards; each is done, whatever fails before
            closing.push_async_callback(app.close)
            closing.push_async_callback(cancel_and_wait, *taking_part)
            if membership is not None:
                closing.push_async_callback(membership.leave)
            closing.push_async_callback(cancel_and_wait, listening)
            closing.push_async_callback(gateway.close)
            if membership is not None:
                closing.push_async_callback(membership.hand_over, 0)
            closing.push_async_callback(cancel_and_wait, *behind, *taking_part[1:])
    echo("Everything is stored; what is open goes on at the next start.")
    return 0


async def _listen(app: App, gateway: Gateway) -> asyncio.Task[None] | None:
    settings = app.loaded.config.gateway
    if not settings.listen and app.loaded.config.signals:
        names = ", ".join(sorted(app.loaded.config.signals))
        raise ConfigError(
            f"Signals are set up ({names}), and the gateway listens nowhere.",
            then="`angelia config set gateway.listen 127.0.0.1:8787` has it listen.",
        )
    if not settings.listen:
        return None
    token = await app.tokens.read("gateway", settings.token) if settings.token else ""
    metrics = Metrics(app.db, lambda: gateway.standings)
    await metrics.begin()
    server = GatewayServer(gateway, token, Signals(app.outside_services), metrics)
    return asyncio.create_task(server.run(settings.listen))


async def _traces(app: App) -> TraceExport | None:
    """What sends traces, if they are to be sent.

    Raises:
        ConfigError: the address is none, or its header is not where it should be, or is none.
    """
    settings = app.loaded.config.gateway
    if not settings.traces:
        return None
    base(settings.traces)
    header = await app.tokens.read("gateway", settings.traces_header) if settings.traces_header else ""
    name, colon, value = header.partition(":")
    if header and not (colon and name.strip() and value.strip()):
        raise ConfigError("What gateway.traces_header leads to is no header.", then="Write it as `name: value`.")
    headers = {name.strip().lower(): value.strip()} if header else {}
    told = partial(spans_with_contents, redact=app.redaction.text) if settings.traces_contents else spans_of
    exporting = TraceExport(app.db, app.key_value, settings.traces, headers, told)
    await exporting.begin()
    return exporting


async def _begin(app: App, gateway: Gateway, only: tuple[str, ...]) -> Membership | None:
    """Open the channels; or, where several machines share the log, take part in serving them. None in a log that lies
    in the home, whose own lock says that there is one gateway.
    """
    if not app.loaded.config.store:
        await gateway.open(only)
        return None
    parts = parts_of(gateway, gateway.stand_by(only), ClockPart(app.clock_services, gateway))
    told: dict[str, str] = {}
    there: set[str] = set()

    def changed(state: ClusterState) -> None:
        gateway.shared = shared(state)
        processes = {one.process for one in state.machines}
        if there - processes:
            gateway.go_on_for_others()
        there.clear()
        there.update(processes)
        _tell_who_has(membership.name, state, told)

    deps = MembershipDeps(
        app.db, Machines(app.db), parts, lambda: refused(gateway), gateway.chat_sessions.finish, changed
    )
    membership = Membership(deps)
    await membership.join()
    echo(f"This machine takes part as {membership.name}. Who does what: angelia cluster")
    return membership


def _tell_who_has(name: str, state: ClusterState, told: dict[str, str]) -> None:
    """A line for each channel that another machine has, whenever that changes."""
    for part in state.parts:
        door, who = door_of(part.name), part.machine if part.held else ""
        if door and who and told.get(door) != who:
            told[door] = who
            if who != name:
                echo(f"{door}: {who} has it, and this one stands by.")


async def _until(ending: asyncio.Event, needed: Sequence[asyncio.Task[None]]) -> None:
    """Wait for the end; one of those that are `needed` and fails is one."""
    asked = asyncio.create_task(ending.wait())
    try:
        done, _ = await asyncio.wait([asked, *needed], return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
    for task in done:
        if task is not asked and (error := task.exception()):
            raise error


async def _show(app: App, gateway: Gateway, changed: asyncio.Event) -> None:
    """A table that is drawn anew on a terminal, a line for each change of health elsewhere; a file for others."""
    paint, lines, said = screen(), 0, dict[str, str]()
    life, began = app.db.presence.name("a gateway"), time.time_ns() // 1_000_000
    told: dict[str, ChannelStatus] | None = None
    while True:
        standings = list(gateway.standings.values())
        if told != gateway.standings:
            told = dict(gateway.standings)
            tell(app.loaded.home, life, began, told)
        if paint.colour:
            rows = await _rows(app, standings, paint)
            draw(Painted((f"\x1b[{lines}F\x1b[J" if lines else "") + "\n".join(rows) + "\n"))
            lines = len(rows)
        else:
            for door in [door for door in said if door not in gateway.standings]:
                del said[door]
                echo(f"{door}: handed over")
            for one in standings:
                word = f"{one.door}: {one.health.state.value}{': ' if one.health.why else ''}{one.health.why}"
                if said.get(one.door) != word:
                    said[one.door] = word
                    echo(word)
        end_if_cancelled()
        changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_TABLE_S):
                await changed.wait()


async def _rows(app: App, standings: list[ChannelStatus], paint: Paint) -> list[Painted]:
    rows: list[tuple[str, ...]] = [("channel", "state", "since", "heard", "to send", "unknown", "failed", "")]
    for one in standings:
        counts = await app.outbox.counts(one.door)
        waiting = counts.get("queued", 0) + counts.get("sending", 0)
        since = datetime.fromtimestamp(one.since / 1000, UTC).astimezone().strftime("%H:%M:%S")
        numbers = (one.heard, waiting, counts.get("unknown", 0), counts.get("failed", 0))
        rows.append((one.door, one.health.state.value, since, *map(str, numbers), one.health.why))
    lines = table(rows, paint.columns - 1)
    return [
        paint.style(lines[0], "2"),
        *(_painted(line, one, paint) for line, one in zip(lines[1:], standings, strict=True)),
    ]


def _painted(line: str, standing: ChannelStatus, paint: Paint) -> Painted:
    word = standing.health.state.value
    return Painted(line.replace(word, paint.style(word, _COLOURS[standing.health.state]), 1))
