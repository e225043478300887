"""`angelia setup`: a model, a chat, freedom and a service, each by a question that Enter answers.

Done again, it loses nothing. A chat asks for its token and who its owner is as well: six answers, and what a model that
is not here needs.
"""

import os
import sys
from pathlib import Path
from typing import Any

import click

from angelia.channels.registry import OURS
from angelia.core.errors import BadInput
from angelia.faces.cli.setup.chat_step import add_chat, ask_for_chat
from angelia.faces.cli.setup.found import import_commands, programs_seen
from angelia.faces.cli.setup.freedom_step import MODES, ask_for_freedom, keep_folder
from angelia.faces.cli.setup.model_step import ask_for_model, take_model
from angelia.faces.cli.setup.service_step import ask_for_service, install_service
from angelia.faces.words.steps import done, heading, note, paragraph
from angelia.service.settings.config import home_folder, load
from angelia.service.settings.config_file import ConfigFile


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia setup\n"
        "  angelia setup --yes --model ollama:qwen3\n"
        "  angelia setup --yes --chat telegram --token 123456:AA… --owner 7001"
    )
)
@click.option(
    "--model", default="", metavar="VENDOR:NAME", help="The model (with --yes the best here, if none is given)."
)
@click.option("--mode", type=click.Choice(list(MODES)), help="How freely it works.")
@click.option("--chat", type=click.Choice(list(OURS)), help="A chat network to be reachable in.")
@click.option("--token", default="", metavar="TOKEN", help="Its token, with --chat.")
@click.option("--owner", default="", metavar="ID", help="Your own id there, with --chat.")
@click.option("--with", "more", multiple=True, metavar="NAME=VALUE", help="Whatever else the network needs.")
@click.option("--folder", default="", help="The folder in which to work on what comes from there.")
@click.option("--service", is_flag=True, help="Start the gateway with this machine.")
@click.option("--yes", is_flag=True, help="Ask nothing: take what is given, and what is best for the rest.")
def setup(yes: bool, **given: Any) -> int:
    """Set everything up by answering a few questions: model, freedom, a chat, a service. Run again, it changes what you
    name.
    """
    environ = dict(os.environ)
    if yes:
        return _by_flags(given, environ)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(
            "Setting up asks questions, and this is no terminal.",
            then="Give --yes, which takes what is best here, and --model VENDOR:NAME to choose; "
            "`angelia setup --help` lists the rest.",
        )
    return by_questions(environ, _more(given))


def by_questions(environ: dict[str, str], more: dict[str, str]) -> int:
    """Ask everything there is to ask; the exit code."""
    heading("Set Angelia up by a few questions")
    paragraph("Enter takes what is suggested. Ctrl-C leaves at any moment, and what was done by then holds.")
    if seen := programs_seen(Path.home()):
        note(f"{', '.join(seen)} {'was' if len(seen) == 1 else 'were'} used here; nothing of it is touched.")
    for command in import_commands(Path.home()):
        note(f"What it knows can be looked at, and taken over: {command}")
    spec = ask_for_model(environ)
    door = ask_for_chat(more)
    ask_for_freedom(door)
    _ready(spec)
    return ask_for_service(environ) if door else 0


def _by_flags(given: dict[str, Any], environ: dict[str, str]) -> int:
    home = home_folder()
    spec = take_model(given["model"] or load(home, environ).config.model, environ)
    if given["mode"]:
        ConfigFile(home).set_all({"policy.mode": given["mode"]})
    if given["chat"]:
        add_chat(given["chat"], given["token"], given["owner"], _more(given))
        if given["folder"]:
            keep_folder(given["chat"], given["folder"])
    if given["service"]:
        install_service(environ)
    _ready(spec)
    return 0


def _more(given: dict[str, Any]) -> dict[str, str]:
    named = {one.partition("=")[0]: one.partition("=")[2] for one in given["more"]}
    return named | ({"token": given["token"]} if given["token"] else {})


def _ready(spec: str) -> None:
    heading("Ready")
    done(f"{spec} thinks; all of it is in {home_folder() / 'config.toml'}.")
    note("Talk: angelia · one question: angelia ask '…' · look at everything: angelia doctor")
