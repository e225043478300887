"""`angelia doctor`: looks at every part, and says how to mend what is broken."""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import click

from angelia.core.errors import AngeliaError, BadInput, fault_words
from angelia.core.visible import visible, visible_line
from angelia.faces.cli.checkup.check_result import CheckResult, CheckState, Fix, broken, well
from angelia.faces.cli.options import Amount, open_app, settings_options
from angelia.faces.cli.other_programs import become
from angelia.faces.cli.progress import working
from angelia.faces.words import widths
from angelia.faces.words.output import Painted, draw
from angelia.faces.words.paint import Paint, screen
from angelia.service.app import App
from angelia.service.settings.config import home_folder

_MARKS = {CheckState.WELL: ("✔", "32"), CheckState.BROKEN: ("✘", "31"), CheckState.ABSENT: ("–", "2")}

_WIDE = 20
"""Columns of what is looked at: as many as the longest extra takes."""


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia doctor\n"
        "  angelia doctor --offline\n"
        "  angelia doctor --crash-test --minutes 5\n"
        "  angelia doctor --door telegram --to 4711"
    )
)
@click.option(
    "--offline", is_flag=True, help="Ask no model, no MCP server, no chat network and not Modal: nothing is paid."
)
@click.option("--model", metavar="VENDOR:NAME", help="The model to check.")
@click.option("--fix", is_flag=True, help="Mend what can be mended without you, and say what was done.")
@click.option("--crash-test", is_flag=True, help="Kill Angelia again and again on this disk, and certify what held.")
@click.option("--walls", is_flag=True, help="Try what confines commands on this machine, and certify what held.")
@click.option(
    "--door", metavar="NAME", help="Run a channel's conformance kit on its real account, and certify what held."
)
@click.option("--to", default="", metavar="CHAT", help="For --door: a chat for trying things out, such as your own id.")
@click.option("--yes", is_flag=True, help="For --door: send there without asking.")
@click.option("--minutes", type=Amount(min=0), default=5.0, show_default=True, help="For --crash-test: how long.")
@click.option("-o", "--output", type=click.Path(), default="angelia-certificate", help="The certificate's folder.")
@settings_options
def doctor(offline: bool, fix: bool, **given: Any) -> int:
    """Check store, sandbox, MCP servers, chats and model (by three tiny questions). Exit code 1 if something is broken.

    Where `--fix` cannot mend something, it says how you can.
    """
    if given["crash_test"] or given["walls"] or given["door"]:
        return _certified(given)
    return asyncio.run(_doctor(given, offline=offline, fix=fix))


def _certified(given: dict[str, Any]) -> int:
    """Try it in a process of its own, beside the home and without touching it; the exit code is 1 where it broke."""
    wanted = [name for name in ("crash_test", "walls", "door") if given[name]]
    if len(wanted) > 1:
        raise BadInput("--crash-test, --walls and --door make a certificate each.", then="Call it once for each.")
    if given["door"] and not given["to"]:
        raise BadInput("No chat is named.", then="Name one that is for trying, such as your own id: --to CHAT.")
    what = wanted[0].replace("_", "-")
    options = ["-o", given["output"], "--near", str(home_folder()), "--minutes", str(given["minutes"])]
    if given["door"]:
        sets = [f"--set={one}" for one in given["sets"]]
        options = [given["door"], *options, f"--to={given['to']}", *sets, *(["--yes"] if given["yes"] else [])]
    become([sys.executable, "-P", "-m", "angelia.testing.certificates", what, *options])
    return 0


async def _doctor(given: dict[str, Any], *, offline: bool, fix: bool) -> int:
    app = await open_app(given)
    paint = screen()
    healthy = True
    findings = look_through(app, offline=offline)
    while True:
        with working("looking"):
            finding = await anext(findings, None)
        if finding is None:
            break
        if fix and finding.fix:
            finding = await _mended(finding, finding.fix)
        healthy = healthy and finding.state is not CheckState.BROKEN
        draw(shown(finding, paint))
    return 0 if healthy else 1


async def _mended(finding: CheckResult, fix: Fix) -> CheckResult:
    try:
        return well(finding.about, f"mended: {await fix()} (it was: {finding.seen})")
    except (AngeliaError, OSError) as error:
        return broken(finding.about, f"{finding.seen} (could not be mended: {fault_words(error)})", finding.mend)


async def look_through(app: App, *, offline: bool) -> AsyncIterator[CheckResult]:
    """Look at every part, one after the other; `offline` asks no model, server and network."""
    from angelia.faces.cli.checkup.browser import look_at_browser
    from angelia.faces.cli.checkup.channels import look_at_channels
    from angelia.faces.cli.checkup.erasing import look_at_erasing
    from angelia.faces.cli.checkup.home import look_at_home
    from angelia.faces.cli.checkup.hooks import look_at_hooks
    from angelia.faces.cli.checkup.modal import leave_modal, look_at_modal
    from angelia.faces.cli.checkup.model import look_at_model
    from angelia.faces.cli.checkup.page import look_at_page
    from angelia.faces.cli.checkup.painter import look_at_painter
    from angelia.faces.cli.checkup.presets import look_at_presets
    from angelia.faces.cli.checkup.private_files import look_at_private_files
    from angelia.faces.cli.checkup.sandbox import look_at_sandbox
    from angelia.faces.cli.checkup.search import look_at_search
    from angelia.faces.cli.checkup.search_paths import look_at_search_paths
    from angelia.faces.cli.checkup.servers import look_at_packages, look_at_servers
    from angelia.faces.cli.checkup.signals import look_at_signals
    from angelia.faces.cli.checkup.speaker import look_at_speaker
    from angelia.faces.cli.checkup.workers import look_at_workers

    networked = (look_at_modal, look_at_servers, look_at_search, look_at_channels, look_at_model)
    away = (leave_modal,) if offline else networked
    for part in (
        look_at_private_files,
        look_at_search_paths,
        look_at_home,
        look_at_erasing,
        look_at_sandbox,
        look_at_browser,
        look_at_painter,
        look_at_speaker,
        look_at_presets,
        look_at_packages,
        look_at_signals,
        look_at_hooks,
        look_at_workers,
        look_at_page,
        *away,
    ):
        async for finding in part(app):
            yield finding
    if offline:
        yield CheckResult("model", CheckState.ABSENT, "not asked, and no MCP server or chat network either (--offline)")


def shown(finding: CheckResult, paint: Paint) -> Painted:
    """A finding as a line, broken between words where a person looks, and what mends it beneath: it may be a command,
    so that a terminal breaks it, and gives it whole to who copies it.
    """
    mark, colour = _MARKS[finding.state]
    seen, mend = visible(finding.seen), visible(finding.mend)
    head = f"{paint.style(mark, colour)} {visible_line(finding.about):<{_WIDE}}"
    rows = seen.splitlines()
    if paint.renders:
        rows = [row for text in rows for row in widths.broken(text, max(paint.columns - _WIDE - 3, 20))]
    first, *more = [*rows, *mend.splitlines()] or [""]
    return Painted(f"{head} {first}\n" + "".join(f"{'':<{_WIDE + 2}} {row}\n" for row in more))
