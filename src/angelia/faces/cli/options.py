"""Options that several commands share, and how a home is opened from them."""

import gc
import os
from collections.abc import Callable
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from angelia.core.errors import AngeliaError
from angelia.faces.words.output import echo
from angelia.service.settings.config import Loaded, home_folder, load

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.stored_home import StoredHome


class Amount(click.FloatRange):
    """A number of dollars or seconds: from `min` on, and finite."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """See `click.ParamType`."""
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number within a range."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """See `click.ParamType`."""
        return "NUMBER"


F = TypeVar("F", bound=Callable[..., Any])

_SETTINGS = (click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any setting, for this run."),)
_TURN = (
    click.option("--model", metavar="VENDOR:NAME", help="The model, e.g. anthropic:claude-sonnet-5-5 or ollama:qwen3."),
    click.option(
        "--sandbox",
        metavar="NAME",
        shell_complete=lambda _, __, begun: [name for name in _sandboxes() if name.startswith(begun)],
        help="Where to work (default: local): docker:python:3.12, apptainer:tools.sif, ssh:box:/srv/data, "
        "modal:python:3.12-slim, or a preset.",
    ),
    click.option("--max-steps", type=Whole(min=0), help="Model calls in one turn, at most (default 90)."),
    click.option("--max-cost", type=Amount(min=0), help="US dollars for one turn, at most."),
    click.option("--max-seconds", type=Whole(min=0), help="Seconds for one turn, at most."),
    click.option(
        "-C",
        "--workspace",
        type=click.Path(path_type=Path),
        help="The folder to work in (default: the current one).",
    ),
    click.option("--no-notes", is_flag=True, help="Neither read nor write notes, in this conversation for good."),
    *_SETTINGS,
)


def _sandboxes() -> list[str]:
    """What may stand behind `--sandbox`: the presets, as far as the settings can be read, and our kinds."""
    from angelia.sandboxes.registry import OURS

    with suppress(AngeliaError):
        return [*load(home_folder(), os.environ).config.sandbox.presets, *OURS]
    return [*OURS]


def settings_options(command: F) -> F:
    """`--set`."""
    return _with(command, _SETTINGS)


def turn_options(command: F) -> F:
    """`--model`, the caps, `--workspace` and `--set`."""
    return _with(command, _TURN)


def _with(command: F, options: tuple[Callable[[Any], Any], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def loaded_from(given: dict[str, Any]) -> Loaded:
    """The configuration that these options ask for.

    Raises:
        ConfigError: names the file, line and key.
    """
    flags = {
        "model": given.get("model"),
        "limits.max_steps": given.get("max_steps"),
        "limits.max_cost": given.get("max_cost"),
        "limits.max_seconds": given.get("max_seconds"),
        "context.notes": False if given.get("no_notes") else None,
    }
    sets = [*given.get("sets", ()), *([f"sandbox.spec={given['sandbox']}"] if given.get("sandbox") else [])]
    return load(home_folder(), os.environ, sets, flags)


async def open_to_read(given: dict[str, Any]) -> "StoredHome":
    """The home that these options ask for, to be read alone, garbage collected as in `open_app`: what is followed is
    so for months. What its log has lost is said on stderr.

    Raises:
        StoreError: it cannot be read.
    """
    from angelia.service.stored_home import StoredHome

    home = StoredHome.open(loaded_from(given))
    for sentence in await home.lost():
        echo(f"angelia: {sentence} `angelia store verify` says more.", err=True)
    _collect_circles()
    return home


async def open_app(given: dict[str, Any]) -> "App":
    """The home that these options ask for, open. From now on garbage that goes in circles is collected: who works in a
    home may do so for hours. What start-up has made stays, and is not looked at again.
    """
    from angelia.service.app import App
    from angelia.service.logs import log_all

    app = await App.open_alone(loaded_from(given))
    log_all()
    _collect_circles()
    return app


def _collect_circles() -> None:
    gc.freeze()
    gc.enable()
