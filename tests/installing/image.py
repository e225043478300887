"""The container image: built, run as it is meant to be, asked, backed up and ended.

`make image-check` runs it, since it takes a base from Debian's mirror and five minutes: no part of `make test`.
"""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.testing.channels.network import Thing
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from angelia.testing.networks.telegram_world import HERE
from tests.house.sources import ROOT

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]

_DAEMON = (
    *("--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false", "--ip-masq=false"),
    "--userland-proxy=false",
)
HARDENED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true")
PLACES = ("--tmpfs", "/tmp:mode=1777", "--volume", "data:/data", "--volume", "backups:/backups")
"""As `compose.yaml` has them (`test_manifests.py`)."""
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


class Daemon:
    """A Docker daemon of the test's own, with one image: ours."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def run(self, *words: str, given: bytes = b"") -> str:
        """What a command that must succeed said on both streams."""
        ended = self.ended(*words, given=given)
        said = (ended.stdout + ended.stderr).decode()
        assert ended.returncode == 0, said[-3000:]
        return said

    def ended(self, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """How a command ended."""
        return subprocess.run(
            ["docker", "--host", f"unix://{self._socket}", *words], input=given, capture_output=True, check=False
        )


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """The image, built upon a Debian with Python and nothing else."""
    root = tmp_path / "debian"
    included = "--include=python3-minimal,python3-venv,ca-certificates"
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", included, "bookworm", root], check=True)
    (root / "etc/ssl/certs/ca-certificates.crt").write_bytes(_CERTIFICATES.read_bytes())
    subprocess.run(["make", "--quiet", "wheel"], cwd=ROOT, check=True)
    socket = Path("/tmp") / f"angelia-{time.time_ns()}.sock"
    folders = (f"--data-root={tmp_path}/root", f"--exec-root={tmp_path}/exec", f"--pidfile={tmp_path}/pid")
    with subprocess.Popen(["dockerd", *_DAEMON, *folders, "--host", f"unix://{socket}"]) as process:
        try:
            docker = Daemon(socket)
            while docker.ended("version").returncode:
                assert process.poll() is None
            packed = subprocess.run(["tar", "-C", root, "-c", "."], capture_output=True, check=True).stdout
            docker.run("import", "-", "debian-python:1", given=packed)
            build = ("build", "--network", "host", "--build-arg", "BASE=debian-python:1", "--tag", "angelia", str(ROOT))
            docker.run(*build)
            yield docker
        finally:
            process.terminate()


async def test_one_command_makes_a_server_that_answers(daemon: Daemon) -> None:
    async with ModelServer([say("Hello from a container.")]) as model, TelegramServer() as network:
        keys = (f"TELEGRAM_TOKEN={TOKEN}", f"OPENAI_BASE_URL={model.url}/v1", "OPENAI_API_KEY=k")
        environment = [word for key in keys for word in ("--env", key)]
        start = ["run", "--network", "host", *HARDENED, *PLACES, *environment]
        settings = (
            'model = "openai-chat:test"\n[channels.telegram]\ntoken = { env = "TELEGRAM_TOKEN" }\n'
            f'owners = ["{HERE.chat}"]\napi = "{network.url}"\n'
        )
        shell = ("--rm", "--interactive", "--entrypoint", "sh", "angelia", "-c")
        write = (*shell, "mkdir -p /data/home && cat > /data/home/config.toml && id -u && ! touch /x")
        assert daemon.run(*start, *write, given=settings.encode()).startswith("1000")
        daemon.run(*start, "--detach", "--name", "one", "--health-interval", "1s", "angelia")
        await network.bring(Thing(IncomingKind.TEXT, HERE, "hello"))
        async with asyncio.timeout(60):
            await network.when(lambda: any("Hello from" in one.text for one in network.arrived))
        async with asyncio.timeout(60):
            health = ""
            while health != "healthy":
                health = await asyncio.to_thread(daemon.run, "inspect", "--format", "{{.State.Health.Status}}", "one")
                health = health.strip()
        assert "in order" in daemon.run("exec", "one", "angelia", "backup", "/backups", "--keep", "7")
        back = "ANGELIA_HOME=/tmp/back angelia restore /backups/*.gz && ANGELIA_HOME=/tmp/back angelia sessions"
        assert "hello" in daemon.run("exec", "one", "sh", "-c", back)
        await asyncio.to_thread(daemon.run, "stop", "--time", "40", "one")
        assert daemon.run("inspect", "--format", "{{.State.ExitCode}}", "one").strip() == "0"
