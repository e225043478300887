"""`angelia new tool|channel|model|skill NAME`: a package with tests and its entry point, or a skill that begins."""

import keyword
import re
import shlex
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

import click

from angelia.core.errors import BadInput
from angelia.core.version import PACKAGE_VERSION
from angelia.faces.cli.new_package.skill import begin_skill
from angelia.faces.words.output import echo
from angelia.installation import installation

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")

_SKILL = "skill"

_NEXT = {
    "tool": "Change src/{module}.py to do what you want, and say in `effect` what that does to the world.",
    "channel": "Change src/{module}.py to speak to your network, and tests/{module}_network.py to be it on loopback.",
    "model": "Change src/{module}.py to ask your model, and name the vendor in config.toml as README.md shows.",
}


@click.command(epilog=("\b\nExample:\n  angelia new tool word_count"))
@click.argument("kind", type=click.Choice([*_NEXT, _SKILL]))
@click.argument("name")
@click.option(
    "--in", "where", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Where to put it."
)
def new(kind: str, name: str, where: Path) -> int:
    """Begin a package that adds a tool, a channel or a model provider, with tests that pass as they are; or begin a
    skill, in .agents/skills (with --in ~ in your home directory, for every folder).
    """
    if kind == _SKILL:
        begin_skill(name, where.expanduser())
        return 0
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise BadInput(
            f"A package cannot be called {name!r}.",
            then="Take small letters, digits, - and _, beginning with a letter, such as word_count.",
        )
    module = name.replace("-", "_")
    folder = where / name
    if folder.exists():
        raise BadInput(f"{folder} is there already; nothing was written.", then="Take another name, or move it away.")
    words = {
        "name": name,
        "module": module,
        "MODULE": module.upper(),
        "Title": "".join(part.title() for part in module.split("_")),
        "version": PACKAGE_VERSION,
    }
    for path, text in written(files(__package__) / "templates" / kind, words).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    echo(f"{folder} is written.")
    echo(_NEXT[kind].format(module=module))
    echo(f"Try its tests:  cd {shlex.quote(str(folder))} && {_trying()}")
    return 0


def _trying() -> str:
    """The line that tries a package in an environment of its own, with the copy of Angelia that wrote it."""
    here = installation()
    return (
        f"{shlex.quote(str(here.python))} -m venv .venv && "
        f".venv/bin/pip install --quiet {here.anew()} -e '.[test]' && .venv/bin/pytest"
    )


def written(template: Traversable, words: dict[str, str]) -> dict[str, str]:
    """What a template comes to: path and text of each file. Names and texts hold `$name`, `$module`, `$MODULE`,
    `$Title`.
    """
    found: dict[str, str] = {}
    for entry in template.iterdir():
        name = Template(entry.name.removesuffix(".txt")).substitute(words)
        if entry.is_dir():
            found.update({f"{name}/{path}": text for path, text in written(entry, words).items()})
        else:
            found[name] = Template(entry.read_text("utf-8")).substitute(words)
    return found
