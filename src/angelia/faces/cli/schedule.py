"""`angelia schedule`: what is done at which times; `angelia clock`: keeps time where no gateway runs."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from angelia.cancellation import cancel_and_wait
from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.end_signals import asked_to_end
from angelia.faces.cli import completion
from angelia.faces.cli.options import Whole, open_app, settings_options
from angelia.faces.words.output import echo, sure
from angelia.faces.words.widths import table

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.schedule.service import ScheduleService, ScheduleWish
    from angelia.store.tables.schedules import StoredSchedule

HEAD = ("ID", "WHEN", "NEXT", "TOLD AT", "WHAT")
KEEPING = "Keeping time. Ctrl-C ends it."
WAITING = "Another process of this home keeps time; this one takes over when it ends."


@click.group(
    invoke_without_command=True,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia schedule add 'weekdays at 8:00' 'Sum up my mail' --to telegram\n"
        "  angelia schedule\n"
        "  angelia schedule history 7kq2m9xd"
    ),
)
@settings_options
@click.pass_context
def schedule(ctx: click.Context, /, **given: Any) -> int | None:
    """List what is done at which times, and when it is due next. `angelia gateway` or `angelia clock` begins it."""
    return _with(given, _list) if ctx.invoked_subcommand is None else None


def _with(given: dict[str, Any], act: "Callable[[App], Awaitable[int]]") -> int:
    async def run() -> int:
        app = await open_app(given)
        try:
            return await act(app)
        finally:
            await app.close()

    return asyncio.run(run())


async def _list(app: "App") -> int:
    from angelia.service.schedule.service import NO_CLOCK
    from angelia.service.schedule.wake import clock_runs

    rows = await app.schedule_service.lines(OWNER)
    for line in (
        table([HEAD, *rows])
        if rows
        else ["Nothing is scheduled. For example: angelia schedule add 'every day at 8:00' 'Sum up the news'"]
    ):
        echo(line)
    if rows and not clock_runs(app.loaded.home):
        echo(NO_CLOCK, err=True)
    return 0


@schedule.command(
    "add",
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia schedule add 18:00 'Remind me of the oven'\n"
        "  angelia schedule add 'every 10 minutes' 'Sort what is new' --watch 'folder: inbox' --to telegram"
    ),
)
@click.argument("when")
@click.argument("text", metavar="WHAT")
@click.option(
    "--to",
    default="",
    help="Where answers go: a channel such as telegram, or telegram:CHAT; otherwise they are only kept.",
)
@click.option(
    "--late",
    type=click.Choice([one.value for one in e.Late]),
    default="run",
    help="Whether to make up for missed times.",
)
@click.option(
    "--watch",
    default="",
    metavar="WHAT",
    help="Begin only if this has changed: `command: …`, `online: …`, `page: URL`, `folder: PATH`, `past: WORDS`.",
)
@click.option("--zone", default="", help="The IANA time zone in which WHEN is meant (default: this machine's).")
@click.option("--model", default="", metavar="VENDOR:NAME", help="The model of its turns (default: the usual one).")
@click.option("--sandbox", default="", metavar="NAME", help="Where its turns work (default: local).")
@click.option("-C", "--workspace", type=click.Path(path_type=Path), help="The folder to work in.")
@click.option("--yes", is_flag=True, help="Do not ask whether the times are right.")
@settings_options
def add(when: str, text: str, *, yes: bool, **given: Any) -> int:
    """Have WHAT done at WHEN. WHEN is `18:00`, `every day at 8:00`, `in 2 hours`, `2026-12-24 18:00` or a cron line."""

    async def act(app: "App") -> int:
        return await _add(app, when, text, given, yes=yes)

    model, given["model"] = given["model"], None
    sandbox, given["sandbox"] = given["sandbox"], None
    given["own"] = (model, sandbox)
    return _with(given, act)


async def _add(app: "App", when: str, text: str, given: dict[str, Any], *, yes: bool) -> int:
    from msgspec.structs import replace

    from angelia.faces.cli.open_conversation import folder_here
    from angelia.service.schedule.service import wish_in
    from angelia.service.schedule.when import read_when, told

    service = app.schedule_service
    zone, now = service.now_in(given["zone"])
    model, sandbox = given["own"]
    understood = told(read_when(when, zone, now), zone, now)
    if not yes and sys.stdin.isatty() and not sure(f"{understood}. Schedule this?", usual=True):
        echo("Nothing was scheduled.", err=True)
        return 1
    folder = given["workspace"] or folder_here(app, lambda words: echo(words, err=True))
    session = app.conversations.begin(door="terminal", workspace=folder, sandbox=sandbox)
    wish = wish_in(session, e.Address("terminal"), when, text)
    wish = replace(wish, to=given["to"], late=e.Late(given["late"]), zone=given["zone"], model=model)
    if not given["watch"]:
        echo(await service.add(wish))
        return 0
    return await _add_watching(service, wish, given["watch"])


async def _add_watching(service: "ScheduleService", wish: "ScheduleWish", watch: str) -> int:
    """A look that needs a yes asks for it here; the yes is to this question, for this schedule."""
    from msgspec.structs import replace

    from angelia.service.schedule.watching import NeedsYes, read_watch

    watched = read_watch(watch)
    try:
        echo(await service.add(replace(wish, watch=watched)))
    except NeedsYes as needed:
        if not sys.stdin.isatty():
            raise
        if not sure(f"{needed.question}\nLet it run like this each time, unasked?", usual=False):
            echo("Nothing was scheduled.", err=True)
            return 1
        echo(await service.add(replace(wish, watch=replace(watched, yes=needed.question))))
    return 0


@schedule.command("list", epilog=("\b\nExample:\n  angelia schedule list"))
@settings_options
def list_all(**given: Any) -> int:
    """List them, as plain `angelia schedule` does."""
    return _with(given, _list)


@schedule.command(epilog=("\b\nExample:\n  angelia schedule show 7kq2m9xd"))
@click.argument("part", metavar="ID", shell_complete=completion.schedules)
@settings_options
def show(part: str, **given: Any) -> int:
    """Show all of a schedule. With its next times, and what became of messages about it."""

    async def act(app: "App") -> int:
        from angelia.service.schedule.history import described

        for line in table(await described(app.schedule_service, app.outbox, await _found(app, part))):
            echo(line)
        return 0

    return _with(given, act)


@schedule.command(epilog=("\b\nExample:\n  angelia schedule history 7kq2m9xd"))
@click.argument("part", metavar="ID", shell_complete=completion.schedules)
@click.option("-n", "--limit", type=Whole(min=1), default=20, help="How many at most, the newest (default 20).")
@settings_options
def history(part: str, limit: int, **given: Any) -> int:
    """Show what became of its times. That is what was told, what was kept silent, what was missed, and why."""

    async def act(app: "App") -> int:
        from angelia.service.schedule.history import history_rows

        rows = await history_rows(app.schedule_service, await _found(app, part), limit)
        for line in table(rows) or ["None of its times has come yet."]:
            echo(line)
        return 0

    return _with(given, act)


@schedule.command(epilog=("\b\nExample:\n  angelia schedule pause 7kq2m9xd"))
@click.argument("part", metavar="ID", shell_complete=completion.schedules)
@settings_options
def pause(part: str, **given: Any) -> int:
    """Begin no more turns until it is resumed."""
    return _changed(part, given, lambda service, one: service.pause(one, OWNER))


@schedule.command(epilog=("\b\nExample:\n  angelia schedule resume 7kq2m9xd"))
@click.argument("part", metavar="ID", shell_complete=completion.schedules)
@settings_options
def resume(part: str, **given: Any) -> int:
    """Go on with a paused schedule. The times meanwhile are noted as missed. One that waits because the clock was
    ahead goes on from now.
    """
    return _changed(part, given, lambda service, one: service.resume(one, OWNER))


@schedule.command(epilog=("\b\nExample:\n  angelia schedule remove 7kq2m9xd"))
@click.argument("part", metavar="ID", shell_complete=completion.schedules)
@settings_options
def remove(part: str, **given: Any) -> int:
    """End a schedule for good; its history stays."""
    return _changed(part, given, lambda service, one: service.remove(one, OWNER))


def _changed(
    part: str, given: dict[str, Any], change: "Callable[[ScheduleService, StoredSchedule], Awaitable[str]]"
) -> int:
    async def act(app: "App") -> int:
        echo(await change(app.schedule_service, await _found(app, part)))
        return 0

    return _with(given, act)


@schedule.command(epilog=("\b\nExample:\n  angelia schedule run 7kq2m9xd"))
@click.argument("part", metavar="ID", shell_complete=completion.schedules)
@settings_options
def run(part: str, **given: Any) -> int:
    """Begin one turn of it now. The gateway or clock that runs does it, or else this command; its times stay as they
    are.
    """

    async def act(app: "App") -> int:
        from angelia.service.schedule.clockwork import run_facts
        from angelia.service.schedule.turns import ScheduledTurns
        from angelia.service.schedule.wake import clock_runs, wake_clock

        one = await _found(app, part)
        if one.state is e.ScheduleState.ENDED:
            raise BadInput(f"The schedule {short(one.id)} has ended.", then="Add it again.")
        begun = await run_facts(app.transcript, one, 0, 0, key=f"{one.id}:by hand:{app.clock()}")
        await app.transcript.append(begun.conversation, begun.facts)
        wake_clock(app.loaded.home)
        if clock_runs(app.loaded.home):
            echo(f"Begun. What becomes of it: angelia schedule history {short(one.id)}")
            return 0
        occurrence = next(a for a in await app.schedules.open() if a.conversation == begun.conversation)
        await ScheduledTurns(app.clock_services.turns, None).drive(occurrence, one)
        from angelia.service.schedule.history import history_rows

        for line in table(await history_rows(app.schedule_service, one, 1)):
            echo(line)
        return 0

    return _with(given, act)


async def _found(app: "App", part: str) -> "StoredSchedule":
    return await app.schedules.of(OWNER, part)


@click.command(epilog=("\b\nExample:\n  angelia clock"))
@settings_options
def clock(**given: Any) -> int:
    """Begin what is scheduled when its time has come, until Ctrl-C or TERM. `angelia gateway` does this, too.

    Nobody can be asked here: what needs a yes is refused, and the turn is told so. A second clock waits for the first.
    """
    return _with(given, _keep)


async def _keep(app: "App") -> int:
    from angelia.service.models.choice import must_be_had
    from angelia.service.schedule.keep_time import keep_time

    await must_be_had(app.loaded.config, app.model_catalog, app.key_value)
    asked = asyncio.create_task(asked_to_end().wait())
    keeping = asyncio.create_task(keep_time(app.clock_services, None, lambda ours: echo(KEEPING if ours else WAITING)))
    await asyncio.wait([keeping, asked], return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not keeping.done():
        await cancel_and_wait(keeping)
    else:
        keeping.result()
    echo("What is open goes on at the next start.")
    return 0
