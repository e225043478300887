"""A command in a container as a stream: the daemon's frames taken apart, and the status asked for at the end."""

import asyncio
from collections.abc import Sequence

from angelia.sandboxes.docker.engine import DaemonRefused, DockerEngine
from angelia.sandboxes.docker.hijacked_stream import Stream
from angelia.sandboxes.port import SandboxGone, StderrMode, Unreachable
from angelia.sandboxes.shared.error_tail import ErrorTail

CHUNK = 256 * 1024
"""Bytes taken from the socket at once; it holds about as many (`net.core.wmem_default`, 212,992)."""
_HEADER = 8
"""Bytes before each frame: the stream's number, three zeros, the length (API reference, "Attach", "Stream format")."""
_STDERR = 2
"""The number of the second output."""
_PATIENCE = 10.0
"""Seconds until a command whose output has ended must have ended too; the daemon tells it a moment later."""


class ContainerExecStream:
    """See `sandboxes.by_commands.stream_port.ExecStream`. Where errors are merged the launcher writes to one of the
    two outputs, so that their order is kept.
    """

    def __init__(self, engine: DockerEngine, exec_id: str, stream: Stream, errors: StderrMode) -> None:
        self._engine = engine
        self._exec = exec_id
        self._stream = stream
        self._header = b""
        self._frame = 0
        self._apart = _STDERR if errors is StderrMode.APART else -1
        self._errors = ErrorTail()
        self._in_errors = False
        self._open = True

    async def read(self) -> bytes:
        """Some output, nothing at its end."""
        while True:
            try:
                data = await self._stream.read(CHUNK)
            except OSError as error:
                raise _cut() from error
            output = self._payload(data)
            if output or not data:
                return output

    @property
    def last_errors(self) -> bytes:
        """The end of what came by the second output, where that is apart."""
        return self._errors.last

    def _payload(self, data: bytes) -> bytes:
        """What the frames in `data` hold; a frame goes on in the next data, and so may its header."""
        if 0 < len(data) <= self._frame and not self._in_errors:
            self._frame -= len(data)
            return data
        view = memoryview(self._header + data)  # where a header was cut, no frame is open
        at = self._frame
        parts: list[memoryview] = []
        self._sort(view[:at], parts)
        while len(view) - at >= _HEADER:
            begin = at + _HEADER
            at = begin + int.from_bytes(view[begin - 4 : begin], "big")
            self._in_errors = view[begin - _HEADER] == self._apart
            self._sort(view[begin:at], parts)
        self._header = bytes(view[at:])
        self._frame = max(at - len(view), 0)
        return b"".join(parts)

    def _sort(self, payload: memoryview, parts: list[memoryview]) -> None:
        if self._in_errors:
            self._errors.add(payload)
        else:
            parts.append(payload)

    async def write(self, data: bytes) -> None:
        """Send input."""
        try:
            await self._stream.write(data)
        except OSError as error:
            raise _cut() from error

    async def end_input(self) -> None:
        """Let the input end after what was sent."""
        try:
            self._stream.end()
        except OSError as error:
            raise _cut() from error

    async def status(self) -> int:
        """Its status, once the daemon knows it."""
        pause, waited = 0.002, 0.0
        try:
            while waited < _PATIENCE:
                told = await self._engine.call("GET", f"/exec/{self._exec}/json", deed="tell how a command ended")
                if not told["Running"] and told["ExitCode"] is not None:
                    self._engine.begun.discard(self._exec)
                    return int(told["ExitCode"])
                await asyncio.sleep(pause)
                waited, pause = waited + pause, min(pause * 2, 0.2)
        except DaemonRefused as error:
            raise _gone(error.said) from error
        raise Unreachable("The container daemon does not tell how the command ended.")

    async def close(self) -> None:
        """Let go; the launcher takes that for the word to end."""
        if self._open:
            self._open = False
            await self._stream.aclose()


async def exec_wire(
    engine: DockerEngine, container: str, argv: Sequence[str], errors: StderrMode = StderrMode.MERGED
) -> ContainerExecStream:
    """Run `argv` in a container and take over its input and output.

    Raises:
        SandboxGone: there is no such container, or it does not run.
        Unreachable: the daemon does not answer.
    """
    wanted = {"AttachStdin": True, "AttachStdout": True, "AttachStderr": True, "Tty": False, "Cmd": list(argv)}
    try:
        made = await engine.call("POST", f"/containers/{container}/exec", wanted, deed="run a command")
        engine.begun.add(made["Id"])
        path = f"/exec/{made['Id']}/start"
        stream = await engine.take_over(path, {"Detach": False, "Tty": False}, deed="run a command")
    except DaemonRefused as error:
        raise _gone(error.said) from error
    return ContainerExecStream(engine, made["Id"], stream, errors)


def _gone(why: str) -> SandboxGone:
    return SandboxGone(f"The container is not there any more: {why}.", then="The next command makes a new one.")


def _cut() -> SandboxGone:
    return SandboxGone(
        "The connection to the container daemon was cut; what the command had not done by then, it did not do.",
        then="See what it has done before you run it again.",
    )
