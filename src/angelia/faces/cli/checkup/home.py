"""Looks at the home: its store, the space around it, and the parts that are installed."""

import shutil
from collections.abc import AsyncIterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from angelia.core.counts import counted
from angelia.core.errors import AngeliaError, MissingPart, StoreUnreachable
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.installation import installing
from angelia.service.app import App
from angelia.store.sql.upkeep import PartlyVerified, rebuild, verify, verify_newest

ENOUGH = 500_000_000
"""Bytes free below which a conversation with a few pictures and backups may fill the disk."""

LOOKED_THROUGH = 10_000
"""Entries of the log that are looked through; of more than that those of the conversations used last."""

EXTRAS = {
    "documents": ("pypdfium2", "text and pages of PDFs for models that take none"),
    "web": ("html_to_markdown", "web pages as Markdown"),
    "local": ("xllamacpp", "the embedded model"),
    "bridge": ("pydantic_ai", "models through pydantic-ai"),
    "mcp": ("mcp", "MCP servers and their tools"),
    "ssh": ("asyncssh", "sandboxes on machines over SSH"),
    "modal": ("modal", "sandboxes in Modal's cloud"),
    "voice": ("faster_whisper", "recordings written down on this machine"),
    "speech": ("piper", "spoken answers, by voices of this machine"),
    "gateway": ("uvicorn", "webhooks: chats that call us"),
    "login": ("argon2", "a password and passkeys for the page"),
    "discord": ("websockets", "Discord"),
    "slack": ("websockets", "Slack"),
    "remote-browser": ("websockets", "a browser that runs elsewhere"),
    "encryption": ("cryptography", "backups under a passphrase"),
    "keyring": ("keyring", "secrets in the system's keyring"),
    "objects": ("obstore", "files in a bucket that speaks S3"),
    "cluster": ("psycopg", "a log in PostgreSQL"),
    "folders": ("watchfiles", "folders whose changes begin turns"),
}
"""Optional parts: the module that shows they are there, and what they are for."""


def _unloadable() -> MissingPart | None:
    from angelia.models.local.runtime import load_runtime

    try:
        load_runtime()
    except MissingPart as error:
        return error
    return None


async def look_at_home(app: App) -> AsyncIterator[CheckResult]:
    """The store, the disk, the extras."""
    home = app.loaded.home
    try:
        found = await verify_newest(app.db, app.blobs, LOOKED_THROUGH)
    except StoreUnreachable as error:
        yield broken("store", f"not looked through: {error.what} {error.why}".strip(), error.then)
    else:
        yield _stored(app, found)
    yield _space(home)
    for name, (module, purpose) in EXTRAS.items():
        if not find_spec(module):
            yield absent(f"extra {name}", f"not installed: {purpose}", installing(name))
        elif name == "local" and (trouble := _unloadable()):
            yield broken(f"extra {name}", f"{purpose} cannot be loaded: {trouble.why}", trouble.then)
        else:
            yield well(f"extra {name}", purpose)
    if shutil.which("rg"):
        yield well("ripgrep", "searches fast, and leaves ignored files out")
    else:
        yield absent("ripgrep", "not installed: searching uses find and grep", "install the package `ripgrep`")


def _stored(app: App, found: PartlyVerified) -> CheckResult:
    if problems := found.problems:
        mend = "`angelia store rebuild` mends tables and the index; for lost entries or files go back to a backup."
        what = f"{counted(len(problems), 'problem')}: {' '.join(problems[:3])}"
        return broken("store", what, mend, partial(_rebuilt, app))
    count, whole = found.conversations, found.looked == found.conversations
    looked = "" if whole else f", its last {found.looked:,} looked through; `angelia store verify` looks through all"
    files = f" with its files in {app.loaded.config.blobs}" if app.loaded.config.blobs else ""
    wall = f", and {viewer} reads for others" if (viewer := app.loaded.config.store_viewer) else ""
    size = f"{counted(count, 'conversation')}{looked}"
    return well("store", f"{app.loaded.home}{files} is in order ({size}){wall}")


async def _rebuilt(app: App) -> str:
    await rebuild(app.db, app.blobs)
    if left := await verify(app.db, app.blobs):
        raise AngeliaError(f"The tables are made anew from the log, and {len(left)} problems stay.", " ".join(left[:3]))
    return "every table and the index are made anew from the log"


def _space(home: Path) -> CheckResult:
    free = shutil.disk_usage(home).free
    if free < ENOUGH:
        return broken(
            "disk", f"{free / 1e6:.0f} MB are free at {home}", "Make room; on a full disk nothing is accepted."
        )
    return well("disk", f"{free / 1e9:.0f} GB are free at {home}")
