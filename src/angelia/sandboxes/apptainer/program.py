"""The program `apptainer`, or `singularity`: where it is, what it is told of the environment, and what it says."""

import asyncio
import os
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from angelia.core.text import clean, one_line
from angelia.sandboxes.port import SandboxMissing

NAMES = ("apptainer", "singularity")
_PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
    *(
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ),
)
"""What it needs of our environment, or what brings it to a registry."""
_ITS_OWN = ("CACHEDIR", "TMPDIR", "CONFIGDIR", "DOCKER_USERNAME", "DOCKER_PASSWORD")
"""Behind `APPTAINER_` or `SINGULARITY_`. Others would bind more in, or set what commands see ("Environment and
Metadata", apptainer.org/docs/user)."""
_LABEL = re.compile(r"(?:\x1b\[\d+m)?(INFO|WARNING|ERROR|FATAL)\s*:\s*(?:\x1b\[0m)?")


class ListedInstance(Struct, frozen=True):
    """A running instance: its name, and the image as it was named."""

    instance: str
    img: str = ""


class _List(Struct, frozen=True):
    instances: tuple[ListedInstance, ...] = ()


class ApptainerProgram(Struct, frozen=True):
    """The program at `path`; it is run in `env`."""

    path: str
    env: Mapping[str, str]

    def line(self, *words: str) -> tuple[str, ...]:
        """The words that run it, saying nothing but errors."""
        return (self.path, "--silent", "--nocolor", *words)

    async def said(self, *words: str) -> str:
        """Run it to its end; its output and errors."""
        process = await asyncio.create_subprocess_exec(
            *self.line(*words), stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=self.env, cwd="/", start_new_session=True
        )
        output, _ = await process.communicate()
        return output.decode(errors="replace")

    async def instances(self, pattern: str) -> Sequence[str]:
        """The names of those that run and fit `pattern`; see `running`."""
        return [one.instance for one in await self.running(pattern)]

    async def running(self, pattern: str) -> Sequence[ListedInstance]:
        """The instances that run and whose names fit `pattern`, which knows `*`.

        Raises:
            SandboxMissing: it cannot tell.
        """
        said = await self.said("instance", "list", "--json", pattern)
        try:
            return msgspec.json.decode(said, type=_List).instances
        except msgspec.DecodeError as error:
            raise SandboxMissing(
                f"{self.path} does not tell which instances run: {complaint(said)}.",
                then=f"Run `{self.path} instance list --json` by hand, and see what it says.",
            ) from error


async def run_and_tell(argv: Sequence[str], env: Mapping[str, str], told: Callable[[str], None]) -> tuple[int, str]:
    """Run a command, handing on each line as it comes; its status and all it said."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=env, cwd="/", start_new_session=True
    )
    assert process.stdout is not None
    lines = []
    while line := await process.stdout.readline():
        lines.append(line.decode(errors="replace"))
        told(lines[-1])
    return await process.wait(), "".join(lines)


def news(line: str) -> str:
    """What an informing line says; empty for every other."""
    label = _LABEL.match(line)
    return one_line(clean(line[label.end() :]), 200).strip() if label and label[1] == "INFO" else ""


def complaint(said: str) -> str:
    """Why it failed, in its own words: the last fatal line, or error, else whatever it said."""
    found = [(label[1], line[label.end() :]) for line in said.splitlines() if (label := _LABEL.match(line))]
    fatal = [text for word, text in found if word == "FATAL"] or [text for word, text in found if word == "ERROR"]
    # the first one tells the cause; later ones are about what that led to
    return one_line(clean(fatal[0] if fatal else said), 400).strip().rstrip(".") or "it did not say why"


def find(named: str, environ: Mapping[str, str] = os.environ) -> ApptainerProgram:
    """The program that is `named`, or the first of `NAMES` on the PATH.

    Raises:
        SandboxMissing: there is none; says how to get it.
    """
    wanted = (named,) if named else NAMES
    for name in wanted:
        if path := shutil.which(os.path.expanduser(name), path=environ.get("PATH")):  # noqa: PTH111 - may be a bare name
            own = [f"{name.upper()}_{key}" for name in NAMES for key in _ITS_OWN]
            return ApptainerProgram(path, {key: environ[key] for key in (*_PASSED_ON, *own) if key in environ})
    raise SandboxMissing(
        f"There is no {' and no '.join(wanted)} on this machine.",
        then="Install Apptainer (apptainer.org, `module load apptainer` on many clusters), or name the program: "
        "program under [sandbox.apptainer].",
    )
