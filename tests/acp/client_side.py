"""An editor's client: files with unsaved changes, and real terminals, as a client offers them."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.acp.editor import Answerer, Refused

FS = {"fs": {"readTextFile": True, "writeTextFile": True}}
"""The capabilities of a client that has files."""


def refused(said: str) -> Refused:
    """An error of the editor."""
    return Refused({"code": -32603, "message": said})


class Shell(Struct):
    """A command in a terminal, with all that it has written."""

    process: asyncio.subprocess.Process
    reading: "asyncio.Task[None]"
    output: bytes = b""
    released: bool = False


class ClientSide:
    """`unsaved` are texts by path; `save` gives what is written another form, as a formatter does."""

    def __init__(self, save: Callable[[str], str] = lambda text: text) -> None:
        self.unsaved: dict[str, str] = {}
        self.read: list[str] = []
        self.written: list[str] = []
        self.shells: dict[str, Shell] = {}
        self._save = save

    @property
    def answers(self) -> dict[str, Answerer]:
        """What the editor answers."""
        return {
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
            "terminal/kill": self._kill,
            "terminal/release": self._release,
        }

    def _read(self, params: dict[str, Any]) -> dict[str, str]:
        path = params["path"]
        self.read.append(path)
        if path in self.unsaved:
            return {"content": self.unsaved[path]}
        try:
            return {"content": Path(path).read_text("utf-8-sig")}
        except (OSError, UnicodeDecodeError) as error:
            raise refused(f"cannot open {path}: {error}") from None

    def _write(self, params: dict[str, Any]) -> dict[str, str]:
        self.written.append(params["path"])
        self.unsaved.pop(params["path"], None)
        Path(params["path"]).write_bytes(self._save(params["content"]).encode())
        return {}

    # -- terminals ----------------------------------------------------------------------------------------------

    async def _create(self, params: dict[str, Any]) -> dict[str, str]:
        env = {**os.environ, **{one["name"]: one["value"] for one in params.get("env", ())}}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            params["command"],
            *params.get("args", ()),
            cwd=params["cwd"],
            env=env,
            stdout=pipe,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        number = f"term-{len(self.shells) + 1}"
        self.shells[number] = Shell(process, asyncio.create_task(self._follow(number)))
        return {"terminalId": number}

    async def _follow(self, number: str) -> None:
        shell = self.shells[number]
        assert shell.process.stdout
        while chunk := await shell.process.stdout.read(65536):
            shell.output += chunk

    def _output(self, params: dict[str, Any]) -> dict[str, Any]:
        shell = self._shell(params)
        ended = shell.process.returncode is not None
        status = {"exitStatus": self._exit(shell)} if ended else {}
        return {"output": shell.output.decode(errors="replace"), "truncated": False, **status}

    async def _wait(self, params: dict[str, Any]) -> dict[str, Any]:
        shell = self._shell(params)
        await shell.process.wait()
        await shell.reading
        return self._exit(shell)

    def _exit(self, shell: Shell) -> dict[str, Any]:
        code = shell.process.returncode or 0
        return {"exitCode": None, "signal": signal.Signals(-code).name} if code < 0 else {"exitCode": code}

    def _kill(self, params: dict[str, Any]) -> dict[str, Any]:
        shell = self._shell(params)
        if shell.process.returncode is None:
            os.killpg(shell.process.pid, signal.SIGKILL)
        return {}

    def _release(self, params: dict[str, Any]) -> dict[str, Any]:
        self._shell(params).released = True
        return {}

    def _shell(self, params: dict[str, Any]) -> Shell:
        shell = self.shells.get(params["terminalId"])
        if shell is None or shell.released:
            raise refused(f"no terminal {params['terminalId']}")
        return shell
