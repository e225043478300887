"""The first hour of a home server: installed, a service, another version; one that is broken goes back by itself."""

import asyncio
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.testing.channels.network import Thing
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from angelia.testing.networks.telegram_world import HERE
from tests.faces.angelia import MODEL, Place
from tests.house.sources import ROOT
from tests.installing.building import NOW, build_changed, build_needed, later, run

pytestmark = [pytest.mark.slow, pytest.mark.real("uv"), pytest.mark.anyio]

DOWN, UNREAD, WELL = later(1), later(2), later(3)
"""One that does not come up, one that fails on a copy, and one that is well."""

BROKEN = {"faces/gateway/foreground.py": ("    ending = asyncio.Event()\n", "    raise RuntimeError('on purpose')\n")}
UNREADING = {"store/sql/upkeep.py": ("    tips = db.tips.read()  # before", "    return ['on purpose']  # before")}


class Server:
    """A machine of somebody: a home, our program as `install.sh` put it there, a service manager."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.program = place.home.parent / ".local/bin/angelia"
        commands = place.home.parent / "commands"
        commands.mkdir(exist_ok=True)
        for name in ("systemctl", "journalctl"):
            line = shlex.join((sys.executable, str(ROOT / "tests/installing/systemctl.py"), name))
            (commands / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n')
            (commands / name).chmod(0o755)
        self.environment = {
            **place.environment({"PYTHON": sys.executable}),
            "PIP_NO_COMPILE": "0",  # sic, for an option that negates: only what is used is compiled
            "PATH": f"{self.program.parent}:{commands}:/usr/bin:/bin",
        }

    async def do(self, *words: str, code: int = 0) -> str:
        """Run `angelia` as it is installed; what it said on both streams."""
        process = await asyncio.create_subprocess_exec(
            self.program,
            *words,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.place.work,
        )
        said = (await process.communicate())[0].decode()
        assert process.returncode == code, said
        return said

    async def until_well(self) -> str:
        """What `gateway status` says as soon as it is content."""
        async with asyncio.timeout(60):
            while True:
                process = await asyncio.create_subprocess_exec(
                    self.program, "gateway", "status", env=self.environment, stdout=asyncio.subprocess.PIPE
                )
                said = (await process.communicate())[0].decode()
                if process.returncode == 0:
                    return said


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where somebody without a network keeps what Angelia needs; its own wheels are put beside it."""
    packages = tmp_path_factory.mktemp("packages")
    build_needed(packages)
    return packages


@pytest.fixture(scope="module")
def person(wheel: Path, packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home folder of whoever owns the machine, with our program in it. What a service left is ended."""
    person = tmp_path_factory.mktemp("machine") / "person"
    (person / "work").mkdir(parents=True)
    server = Server(Place(person / ".angelia", person / "work"))
    shutil.copy(wheel, packages)
    run(ROOT / "install.sh", "--from", packages, "--extras", "", "--offline", **server.environment)
    yield person
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((person / "systemd/pid").read_text()), signal.SIGTERM)


@pytest.mark.soak
async def test_a_version_that_fails_on_a_copy_is_not_taken(person: Path, packages: Path) -> None:
    build_changed(packages, UNREAD, UNREADING)
    server = Server(Place(person / ".another", person / "work"))
    await server.do("config", "set", "sandbox.confine", "off")
    before = (person / ".local/share/angelia/current").readlink()
    assert f"{UNREAD} fails on a copy of your home" in await server.do("update", "--from", str(packages), code=1)
    assert (person / ".local/share/angelia/current").readlink() == before
    assert (await server.do("--version")).strip() == f"angelia {NOW}"


@pytest.mark.soak
async def test_the_first_hour_of_a_home_server(person: Path, packages: Path) -> None:
    async with ModelServer([say("Hello."), say("Hello again.")]) as model, TelegramServer() as network:
        place = Place(person / ".angelia", person / "work", model.url)
        server = Server(place)
        place.home.mkdir()
        (place.home / "config.toml").write_text(
            f'model = "{MODEL}"\n[sandbox]\nconfine = "off"\n'
            f'[channels.telegram]\ntoken = {{ file = "{place.home}/telegram.token" }}\n'
            f'owners = ["{HERE.chat}"]\napi = "{network.url}"\n'
        )
        (place.home / "telegram.token").write_text(TOKEN)
        (place.home / "telegram.token").chmod(0o600)

        assert "No gateway runs" in await server.do("gateway", "status", code=1)
        installed = await server.do("gateway", "install")
        assert "OPENAI_API_KEY, OPENAI_BASE_URL" in installed, installed
        assert (place.home / "gateway.env").stat().st_mode & 0o777 == 0o600
        assert f"Angelia {NOW} runs" in (said := await server.until_well()), said
        await network.bring(Thing(IncomingKind.TEXT, HERE, "hello"))
        async with asyncio.timeout(60):
            await network.when(lambda: any("Hello." in one.text for one in network.arrived))

        build_changed(packages, DOWN, BROKEN)
        back = await server.do("update", "--from", str(packages), "--patience", "5", code=1)
        assert f"{DOWN} did not come up" in back
        assert f"{NOW} is in place again, and its gateway is back" in back
        assert f"Angelia {NOW} runs" in await server.until_well()
        assert (await server.do("--version")).strip() == f"angelia {NOW}"

        build_changed(packages, WELL, {})
        assert f"{WELL} is in place of {NOW}" in await server.do("update", "--from", str(packages))
        assert f"Angelia {WELL} runs" in await server.until_well()
        await network.bring(Thing(IncomingKind.TEXT, HERE, "and again"))
        async with asyncio.timeout(60):
            await network.when(lambda: any("Hello again." in one.text for one in network.arrived))

        assert "Something went wrong" in await server.do("gateway", "logs")
        assert str(place.home) in await server.do("uninstall")
        await server.do("gateway", "uninstall")
        assert "No gateway runs" in await server.do("gateway", "status", code=1)
