"""Looks at the sandboxes that are configured by name: containers and other machines, each by one command."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from angelia.core.errors import AngeliaError
from angelia.faces.cli.checkup.finding import Finding, absent, broken, well
from angelia.sandboxes.docker.settings import DockerSettings, socket_of
from angelia.sandboxes.port import Command, Reach
from angelia.service.assemble import House
from angelia.service.places import visited
from angelia.service.presets import Chosen, chosen

SECONDS = 60.0
"""For all of one sandbox."""

_LOOK = "Look at its spec: `angelia config` lists it, and where it was set."

_TRIED = ("docker", "ssh")
"""Rooms that are tried: elsewhere a trial may cost money, or fetch more than one wants."""


async def look_at_presets(house: House) -> AsyncIterator[Finding]:
    """The configured sandbox, if it is not this machine, and every preset."""
    settings = house.loaded.config.sandbox
    for name in dict.fromkeys((settings.spec, *settings.presets)):
        at = chosen(settings, name)
        room = at.spec.partition(":")[0]
        if room in _TRIED:
            yield await _tried(house, name, at)
        elif room != "local":
            yield absent(name, f"{at.spec} was not tried")


async def _tried(house: House, name: str, at: Chosen) -> Finding:
    began = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS):
            if at.spec.startswith("docker:") and not await _image_is_here(at):
                return absent(name, f"the image of {at.spec} is not here yet; the first use fetches it")
            said = await _said(house, name)
    except AngeliaError as error:
        return broken(name, " ".join(part for part in (error.what, error.why) if part), error.then or _LOOK)
    except TimeoutError:
        return broken(name, f"{at.spec} did not run a command within {SECONDS:.0f} s", "Try it: angelia sandbox shell")
    if said.strip() != "it runs":
        return broken(name, f"a command in {at.spec} said {said[:200]!r}", f"Look at it: angelia sandbox shell {name}")
    return well(name, f"{at.spec} runs commands, the first after {time.monotonic() - began:.1f} s")


async def _image_is_here(at: Chosen) -> bool:
    from angelia.sandboxes.docker.engine import Engine
    from angelia.sandboxes.docker.pull import is_here

    settings = at.rooms["docker"]
    assert isinstance(settings, DockerSettings)
    engine = Engine(socket_of(settings))
    try:
        return await is_here(engine, at.spec.removeprefix("docker:"))
    finally:
        await engine.close()


async def _said(house: House, name: str) -> str:
    with tempfile.TemporaryDirectory(prefix="angelia-doctor-") as folder:
        async with visited(house, name, Path(folder), lambda _: None) as (there, _):
            reach = Reach.CONFINED if (await there.describe()).confined else Reach.OUTSIDE
            running = await there.start(Command(argv=("echo", "it runs"), seconds=SECONDS, reach=reach))
            output = b"".join([chunk async for chunk in running.output()])
            await running.wait()
    return output.decode(errors="replace")
