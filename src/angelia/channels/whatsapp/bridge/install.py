"""The bridge's packages, installed by npm when somebody links a number, into the channel's own folder."""

import asyncio
from pathlib import Path

import msgspec

from angelia.core.errors import AngeliaError, fault_words
from angelia.tied_program import TiedProgram

PACKAGES = {"@whiskeysockets/baileys": "7.0.0-rc14", "qrcode-terminal": "0.12.0"}
"""Pinned: the bridge was written against these types; earlier ones need Git, too."""


class CannotInstall(AngeliaError):
    """npm is not there, or could not get the packages."""


def is_installed(modules: Path) -> bool:
    """Whether the packages lie in a folder."""
    return all((modules / "node_modules" / name / "package.json").exists() for name in PACKAGES)


async def install(modules: Path, npm: str = "npm") -> None:
    """Have npm put the packages into a folder.

    Raises:
        CannotInstall: it could not; says how to mend it.
    """
    modules.mkdir(parents=True, exist_ok=True, mode=0o700)
    manifest = {"private": True, "name": "angelia-whatsapp-bridge", "dependencies": PACKAGES}
    (modules / "package.json").write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    words = ("install", "--no-audit", "--no-fund", "--omit=dev", "--omit=optional")
    try:
        program = await TiedProgram.begin((npm, *words), modules, errors=asyncio.subprocess.STDOUT)
    except OSError as error:
        raise CannotInstall(
            f"npm cannot be started: {fault_words(error)}.", then="Install Node 20 or newer, with npm."
        ) from error
    try:
        said, _ = await program.process.communicate()
    finally:
        await program.end()  # whoever waits for it may have gone
    if program.process.returncode or not is_installed(modules):
        raise CannotInstall(
            f"npm could not install the WhatsApp bridge (exit status {program.process.returncode}).",
            f"It says: {_reason(said.decode(errors='replace'))}",
            f"Try again; by hand: npm install in {modules}.",
        )


def _reason(said: str) -> str:
    """The line that tells why, of many; that of a network that cannot be reached names the `reason`."""
    lines = [line.removeprefix("npm error ") for line in said.splitlines() if line.strip()]
    return next((line for line in lines if "reason:" in line), lines[-1] if lines else "nothing")[:400]
