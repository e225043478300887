"""Builds the site out of the project's documents: `make site`, or `python -m docs.site FOLDER`.

Each version has a folder there by its name, `next` what is not released; what lies beside it stays. Every page names
its version and leads to the list of all, and none of that needs a script or a network.

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

from docs.release import NEXT, documented, version

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
site_name = "Angelia %(said)s"
site_description = "A self-hosted agent: nothing is lost and nothing is silent."
copyright = "Angelia %(said)s · <a href='VERSIONS'>other versions</a> · Apache License 2.0"
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

LIST = "versions.html"
"""The page with all versions, beside their folders."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">%(head)s<title>Angelia</title>
<style>body { font: 1.1rem/1.6 system-ui, sans-serif; margin: 3rem auto; max-width: 36rem; padding: 0 1rem }</style>
</head>
<body><h1>Angelia</h1>
%(body)s
</body></html>
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
    (folder / "zensical.toml").write_text(CONFIG % {"nav": nav, "said": said(here())}, "utf-8")


def here() -> str:
    """The version that the documents here tell of."""
    return documented((ROOT / "CHANGELOG.md").read_text("utf-8"), version())


def said(name: str) -> str:
    """A version as a person reads it.

    >>> said("0.9.0")
    '0.9.0'
    """
    return f"after {version()}" if name == NEXT else name


def build(target: Path) -> None:
    """Build the site of this version into a folder of `target`, in place of what is there, and list it with the others.

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
            page.write_text(text.replace("href='VERSIONS'", f"href='{up}/../{LIST}'"), "utf-8")
        place = target / here()
        if place.exists():
            shutil.rmtree(place)
        shutil.copytree(Path(folder) / "site", place)
    list_versions(target)


def list_versions(target: Path) -> None:
    """Write the list of the versions that lie in a folder, the newest first, and a first page that leads to the newest
    release; to what is not released where there is none.
    """
    found = sorted((one.parent.name for one in target.glob("*/index.html")), key=_age)
    first = next((name for name in found if name != NEXT), NEXT)
    rows = "\n".join(f'<li><a href="{name}/index.html">{said(name)}</a></li>' for name in found)
    (target / LIST).write_text(_PAGE % {"head": "", "body": f"<ul>\n{rows}\n</ul>"}, "utf-8")
    leads = f'<meta http-equiv="refresh" content="0; url={first}/index.html">'
    words = f'<p><a href="{first}/index.html">{said(first)}</a> · <a href="{LIST}">other versions</a></p>'
    (target / "index.html").write_text(_PAGE % {"head": leads, "body": words}, "utf-8")


def _age(name: str) -> tuple[bool, list[int]]:
    """Sorts what is not released first, then the newest release."""
    return name != NEXT, [-int(part) for part in re.findall(r"\d+", name)]


if __name__ == "__main__":
    build(Path(sys.argv[1]))
