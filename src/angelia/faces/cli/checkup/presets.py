"""Looks at the sandboxes that are configured by name: containers and other machines, each by one command."""

import asyncio
import time
from collections.abc import AsyncIterator

from angelia.core.errors import AngeliaError
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.held_folder import HeldFolder
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.docker.settings import DockerSettings, socket_of
from angelia.sandboxes.port import Command, Reach
from angelia.service.app import App
from angelia.service.places.presets import Chosen, chosen

SECONDS = 60.0
"""For all of one sandbox."""

_LOOK = "Look at its spec: `angelia config` lists it, and where it was set."

_TRIED = ("docker", "apptainer", "ssh")
"""Kinds that are tried: what a third-party sandbox costs nobody knows."""
_LOOKED_AT_ELSEWHERE = ("local", "modal")


async def look_at_presets(app: App) -> AsyncIterator[CheckResult]:
    """The configured sandbox, if it is not this machine, and every preset."""
    settings = app.loaded.config.sandbox
    for name in dict.fromkeys((settings.spec, *settings.presets)):
        at = chosen(settings, name)
        kind = at.spec.partition(":")[0]
        if kind in _TRIED:
            yield await _tried(app, name, at)
        elif kind not in _LOOKED_AT_ELSEWHERE:
            yield absent(name, f"{at.spec} was not tried")


async def _tried(app: App, name: str, at: Chosen) -> CheckResult:
    began = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS):
            if found := await _to_be_fetched(name, at):
                return found
            said = await _said(app, name)
    except AngeliaError as error:
        return broken(name, " ".join(part for part in (error.what, error.why) if part), error.then or _LOOK)
    except TimeoutError:
        return broken(
            name, f"{at.spec} did not run a command within {SECONDS:.0f} s", f"Try it: angelia sandbox shell {name}"
        )
    if said.strip() != "it runs":
        return broken(name, f"a command in {at.spec} said {said[:200]!r}", f"Look at it: angelia sandbox shell {name}")
    return well(name, f"{at.spec} runs commands, the first after {time.monotonic() - began:.1f} s")


async def _to_be_fetched(name: str, at: Chosen) -> CheckResult | None:
    """The finding about an image that a trial would have to fetch."""
    match at.spec.partition(":"):
        case "docker", _, image if not await _is_in_docker(image, at):
            return absent(name, f"the image of {at.spec} is not here yet; the first use fetches it")
        case "apptainer", _, image if program := _fetching_program(image, at):
            told = f"the image of {at.spec} comes from elsewhere, by {program}; the first use fetches it"
            return absent(name, told, f"Fetch and try it: angelia sandbox shell {name}")
        case _:
            return None


def _fetching_program(image: str, at: Chosen) -> str:
    """What fetches this image for Apptainer; empty for a file or folder of this machine.

    Raises:
        SandboxMissing: there is no such program.
    """
    from angelia.sandboxes.apptainer.layout import is_elsewhere
    from angelia.sandboxes.apptainer.program import find

    settings = at.settings["apptainer"]
    assert isinstance(settings, ApptainerSettings)
    return find(settings.program).path if is_elsewhere(image) else ""


async def _is_in_docker(image: str, at: Chosen) -> bool:
    from angelia.sandboxes.docker.engine import DockerEngine
    from angelia.sandboxes.docker.pull import is_here

    settings = at.settings["docker"]
    assert isinstance(settings, DockerSettings)
    engine = DockerEngine(socket_of(settings))
    try:
        return await is_here(engine, image)
    finally:
        await engine.close()


async def _said(app: App, name: str) -> str:
    with HeldFolder() as folder:
        async with app.places.visited(name, folder, lambda _: None) as (there, _):
            reach = Reach.CONFINED if (await there.describe()).confined else Reach.OUTSIDE
            running = await there.start(Command(argv=("echo", "it runs"), seconds=SECONDS, reach=reach))
            output = b"".join([chunk async for chunk in running.output()])
            await running.wait()
    return output.decode(errors="replace")
