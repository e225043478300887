"""`angelia docs`: the documents of the version that runs, in the terminal; a wheel has them within the package."""

import sys
from difflib import get_close_matches
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from angelia.core.errors import BadInput
from angelia.faces.words.output import draw, echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table

_PACKAGE = Path(__file__).parents[2]
_USUAL = "how-to/"
"""The folder whose pages are named without it."""


def pages() -> dict[str, Path]:
    """Every page by its name: `irc` for `how-to/irc.md`, `reference/settings` for that one.

    Raises:
        BadInput: this copy has none, such as a package that somebody else built without them.
    """
    folder = next((one for one in (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs") if one.is_dir()), None)
    if folder is None:
        raise BadInput("This copy of Angelia has no documents.", then="They lie in the folder docs/ of its source.")
    found = [(path.relative_to(folder).with_suffix("").as_posix(), path) for path in sorted(folder.rglob("*.md"))]
    return {name.removeprefix(_USUAL): path for name, path in found}


def _complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=_title(path)) for name, path in pages().items() if name.startswith(begun)]


@click.command(epilog=("\b\nExamples:\n  angelia docs\n  angelia docs irc\n  angelia docs reference/settings | less"))
@click.argument("page", required=False, metavar="[PAGE]", shell_complete=_complete)
def docs(page: str | None) -> int:
    """Read the documents of this version: a list of them, or one of its pages."""
    known = pages()
    if page is None:
        rows = [(name, _title(path)) for name, path in known.items()]
        echo("\n".join(table([("PAGE", "TELLS"), *rows], screen().columns * sys.stdout.isatty())))
        return 0
    if page not in known:
        like = get_close_matches(page, known, n=3)
        then = f"Perhaps {' or '.join(like)}? " if like else ""
        raise BadInput(f"There is no page {page!r}.", then=f"{then}`angelia docs` lists all of them.")
    draw(screen().markdown(known[page].read_text("utf-8").rstrip("\n")))
    return 0


def _title(path: Path) -> str:
    """Its first heading."""
    with path.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), "")
