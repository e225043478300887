"""Builds the site out of the project's documents: `make site`, or `python -m docs.site FOLDER`.

Pages lie in the site as they lie here, with those of the project's root in `project/`. Links between them are turned
round, one to a file that is no page loses its link, and one that leads nowhere ends the build (`--strict`).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE")

NAV: dict[str, list[str]] = {
    "Start": ["index.md", "how-to/first-steps.md", "how-to/install.md", "compared.md", "migrate.md"],
    "Tutorials": [
        *("tutorials/developer.md", "tutorials/telegram.md", "tutorials/home-server.md"),
        *("tutorials/newcomer-from-another-agent.md", "tutorials/python.md"),
    ],
    "Concepts": ["concepts.md", "tour.md", "project/ARCHITECTURE.md"],
    "Talk to it": [
        *("how-to/use-in-the-terminal.md", "how-to/terminal-keys.md", "how-to/use-in-an-editor.md"),
        *("how-to/web.md", "how-to/web-from-elsewhere.md", "how-to/run-the-gateway.md"),
        *("how-to/telegram.md", "how-to/discord.md", "how-to/slack.md", "how-to/matrix.md", "how-to/irc.md"),
        *(
            "how-to/whatsapp.md",
            "how-to/whatsapp-personal.md",
            "how-to/files-in-an-answer.md",
            "how-to/recordings.md",
            "how-to/speak.md",
        ),
    ],
    "Work with it": [
        *(
            "how-to/folder-instructions.md",
            "how-to/notes.md",
            "how-to/skills.md",
            "how-to/schedule.md",
            "how-to/signals.md",
            "how-to/mailboxes.md",
            "how-to/folders.md",
            "how-to/hooks.md",
            "how-to/delegate.md",
            "how-to/batches.md",
            "how-to/fork.md",
            "how-to/replay.md",
            "how-to/certificate.md",
            "how-to/undo.md",
            "how-to/long-conversations.md",
            "how-to/sandboxes.md",
        ),
        *(
            "how-to/apptainer.md",
            "how-to/modal.md",
            "how-to/browse-the-web.md",
            "how-to/search-the-web.md",
            "how-to/paint.md",
            "how-to/use-mcp-servers.md",
            "how-to/serve-mcp.md",
            "api.md",
            "how-to/embedded-model.md",
        ),
    ],
    "Operate it": [
        *("how-to/keys.md", "how-to/secrets.md", "how-to/confinement.md", "how-to/guests.md", "how-to/backups.md"),
        *("how-to/one-persons-data.md", "how-to/retention.md", "how-to/audit.md", "how-to/files-elsewhere.md"),
        "how-to/log-in-postgresql.md",
        "how-to/deploy.md",
        *("how-to/update.md", "how-to/container.md", "how-to/troubleshooting.md", "project/SECURITY.md"),
        "how-to/when-something-is-away.md",
    ],
    "Build with it": [
        *("how-to/use-from-python.md", "examples/index.md", "how-to/add-a-tool.md", "how-to/add-a-channel.md"),
        *("how-to/add-a-sandbox.md", "how-to/add-a-model-provider.md", "how-to/add-a-vendor.md"),
        *("how-to/test-with-a-scripted-model.md", "project/CONTRIBUTING.md"),
    ],
    "Reference": [
        *(
            "reference/commands.md",
            "reference/chat.md",
            "reference/settings.md",
            "reference/python.md",
            "reference/web-api.md",
        ),
        *("reference/tools.md", "reference/vendors.md", "reference/channels.md", "reference/endings.md"),
        *("reference/turn.md", "reference/entries.md", "reference/crash-points.md", "reference/files.md"),
        *("project/CHANGELOG.md", "project/LICENSE.md"),
    ],
}
"""What stands in the menu, in its order; a page that is in none of these is found by search alone."""

CONFIG = """
[project]
site_name = "Angelia"
site_description = "A self-hosted agent: nothing is lost and nothing is silent."
copyright = "Angelia %(version)s · Apache License 2.0"
use_directory_urls = false
extra_css = ["pictures/site.css"]
nav = [
%(nav)s
]
[project.plugins.search]
[project.plugins.offline]
[project.theme]
variant = "modern"
font = false
features = [
  "navigation.tabs", "navigation.sections", "navigation.top", "navigation.footer",
  "content.code.copy", "search.highlight", "toc.follow",
]
[[project.theme.palette]]
media = "(prefers-color-scheme)"
toggle.icon = "lucide/sun-moon"
toggle.name = "Light"
[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"
[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "As the system"
[project.markdown_extensions]
admonition = {}
attr_list = {}
md_in_html = {}
tables = {}
toc.permalink = true
pymdownx.details = {}
pymdownx.highlight = {}
pymdownx.superfences = {}
"""

SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the theme fetches for pages from disk; ours lies beside them, so that nothing is fetched."""

_BLOCK = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)#\s]*)(#[\w-]+)?\)")


def pages() -> dict[Path, str]:
    """Every page: the document here, and its path in the site."""
    found = {path: path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))}
    found |= {ROOT / name: f"project/{name.removesuffix('.md')}.md" for name in PROJECT}
    return found | {ROOT / "examples/README.md": "examples/index.md", ROOT / "README.md": "index.md"}


def turned(text: str, path: Path, places: Mapping[Path, str]) -> str:
    """A document with its links as they have to be in the site; blocks of code stay as they are."""

    def link(found: re.Match[str]) -> str:
        picture, words, target, anchor = found[1], found[2], found[3], found[4] or ""
        if not target or target.startswith(("http:", "https:", "mailto:")):
            return found[0]
        there = Path(os.path.normpath(path.parent / target))
        if there in places:
            here = Path(places[path]).parent
            return f"{picture}[{words}]({os.path.relpath(places[there], here)}{anchor})"
        if there.is_relative_to(ROOT / "docs/pictures"):
            place = f"pictures/{there.name}"
            return f"{picture}[{words}]({os.path.relpath(place, Path(places[path]).parent)})"
        return words

    parts = _BLOCK.split(text)
    return "".join(part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts))


def assemble(folder: Path) -> None:
    """Write the site's sources into an empty folder."""
    from angelia import __version__

    places = pages()
    for path, place in places.items():
        (folder / "docs" / place).parent.mkdir(parents=True, exist_ok=True)
        text = turned(path.read_text("utf-8"), path, places)
        if path.name == "LICENSE":
            text = f"# License\n\n```text\n{text}\n```\n"
        if path == ROOT / "examples/README.md":
            programs = sorted(path.parent.glob("*.py"))
            text += "".join(f"\n## {one.name}\n\n```python\n{one.read_text()}```\n" for one in programs)
        (folder / "docs" / place).write_text(text, "utf-8")
    shutil.copytree(ROOT / "docs/pictures", folder / "docs/pictures", dirs_exist_ok=True)
    nav = "\n".join(f'  {{ "{name}" = {listed!r} }},'.replace("'", '"') for name, listed in NAV.items())
    (folder / "zensical.toml").write_text(CONFIG % {"nav": nav, "version": __version__}, "utf-8")


def build(target: Path) -> None:
    """Build the site into `target`, in place of what is there.

    Raises:
        CalledProcessError: a link leads nowhere, or a page cannot be read; it has been said which.
    """
    with tempfile.TemporaryDirectory(prefix="angelia-site-") as folder:
        assemble(Path(folder))
        zensical = Path(sys.executable).with_name("zensical")
        subprocess.run([zensical, "build", "--strict", "--clean"], cwd=folder, check=True)  # noqa: S603 - of ours
        for page in (Path(folder) / "site").rglob("*.html"):
            up = os.path.relpath(Path(folder) / "site", page.parent)
            text = page.read_text("utf-8").replace(SHIM, f"{up}/pictures/worker_on_disk.js")
            page.write_text(text, "utf-8")
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(Path(folder) / "site", target)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
