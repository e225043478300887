"""Pictures, PDFs and sounds opened in processes of their own: each in another one, in bounded time, and confined.

| the process | what follows |
|---|---|
| answers | the answer; the process has ended, and knew no other medium |
| says that memory is not enough, or dies | `MediaLimitMet`, with numbers |
| is not done in time | it is killed; `MediaLimitMet`, with numbers |
| ended before it took the job (it had waited too long) | another one, once |
| is waited for by nobody any more | it is killed |
"""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from angelia.context.media_forms import Pixels
from angelia.core.errors import UNREADABLE, BadInput, MissingPart
from angelia.core.text import clean
from angelia.store.media.documents import Page, can_read
from angelia.store.media.jobs import (
    ANSWERED,
    ANSWERS,
    LENGTH,
    LIMITS,
    NO_MEMORY,
    REFUSED,
    TAKEN,
    CountPages,
    DecodeSound,
    EncodeVoice,
    FindTransparency,
    JobRefusal,
    MeasurePicture,
    MediaJob,
    MediaLimits,
    MediaType,
    ReadPages,
    RedrawPicture,
    broke_down,
    media_type,
    over_memory,
    over_time,
)
from angelia.store.media.pictures import Drawn
from angelia.store.media.voice_notes import EncodedVoice

_BEGIN = "import sys; sys.path.extend(sys.argv[4:]); from angelia.store.media.worker import main; main()"
"""Isolated (`-I`), Python looks into no folder of the person's; so it is told where the packages are."""

_PACKAGES = ("angelia", "msgspec", "PIL", "pypdfium2", "av")

_MOST_LINKS = 40
"""As the kernel follows (path_resolution(7))."""

_CHUNK = 1 << 20

_MOST_NAME = 300
"""Characters of a name: a job is one message, which the socket takes whole."""

_log = logging.getLogger(__name__)


class NotStarted(BadInput):
    """What opens media does not run on this machine."""

    def __init__(self, argv: Sequence[str], why: str) -> None:
        super().__init__(f"What opens pictures and PDFs could not be started ({argv[0]}): {why}.", then="See doctor.")


Start = Callable[[Sequence[str], int, int], "subprocess.Popen[bytes]"]
"""Starts a command line in a session of its own, with a descriptor as its input and so many bytes of memory; it raises
OSError."""


def start_plain(argv: Sequence[str], stdin: int, memory: int) -> "subprocess.Popen[bytes]":
    """As a process of ours, which limits its memory itself."""
    nothing = subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603 - a fixed command line
        argv, stdin=stdin, stdout=nothing, stderr=nothing, env={"LANG": "C.UTF-8"}, cwd="/", start_new_session=True
    )


class MediaProcesses:
    """Opens media. `launch` is called once and gives the words before the command that confine it, none for none;
    `start` starts it.

    With `ahead` a process is started in advance after each medium, and waits some seconds for the next one; then
    `close` is to be called. `limits` are those of each type of media.
    """

    def __init__(
        self,
        launch: Callable[[], Sequence[str]] = tuple,
        *,
        start: Start = start_plain,
        ahead: bool = False,
        limits: Mapping[MediaType, MediaLimits] = LIMITS,
    ) -> None:
        self._launch, self._begin = launch, start
        self._ahead = ahead
        self.limits = limits
        self._argv: tuple[str, ...] = ()
        self._slots = {of: asyncio.Semaphore(limit.at_once) for of, limit in limits.items()}
        self._waiting: dict[MediaType, _Process] = {}

    async def check(self, source: bytes | Path, name: str = "") -> Pixels:
        """See `store.media.pictures.check`.

        Raises:
            BadInput: as there, or `MediaLimitMet`.
        """
        found: Pixels = await self._run(MeasurePicture(name), source)
        return found

    async def is_transparent(self, source: bytes | Path, name: str = "") -> bool:
        """See `store.media.pictures.is_transparent`.

        Raises:
            BadInput: as there, or `MediaLimitMet`.
        """
        found: bool = await self._run(FindTransparency(name), source)
        return found

    async def redraw(self, source: bytes | Path, long_edge: int, name: str = "") -> Drawn:
        """See `store.media.pictures.redraw`.

        Raises:
            BadInput: as there, or `MediaLimitMet`.
        """
        drawn: Drawn = await self._run(RedrawPicture(long_edge, name), source)
        return drawn

    async def count_pages(self, source: bytes | Path, name: str = "") -> int:
        """See `store.media.documents.count_pages`.

        Raises:
            BadInput: as there, or `MediaLimitMet`.
            MissingPart: pypdfium2 is not installed.
        """
        pages: int = await self._run(CountPages(name), source)
        return pages

    async def read_pages(self, source: bytes | Path, job: ReadPages) -> tuple[Page, ...]:
        """See `store.media.documents.read_pages`.

        Raises:
            BadInput: as there, or `MediaLimitMet`.
            MissingPart: pypdfium2 is not installed.
        """
        pages: tuple[Page, ...] = await self._run(job, source)
        return pages

    async def encode_voice(self, sounds: Sequence[bytes]) -> EncodedVoice:
        """See `store.media.voice_notes.encode_voice`.

        Raises:
            BadInput: as there, or `MediaLimitMet`.
            MissingPart: PyAV is not installed.
        """
        encoded: EncodedVoice = await self._run(EncodeVoice(tuple(map(len, sounds))), b"".join(sounds))
        return encoded

    async def as_wav(self, sound: bytes) -> bytes:
        """See `store.media.voice_notes.as_wav`.

        Raises:
            BadInput, MissingPart: as `encode_voice`.
        """
        decoded: bytes = await self._run(DecodeSound(), sound)
        return decoded

    def close(self) -> None:
        """End what waits. Idempotent; what is asked later starts anew."""
        self._ahead = False
        while self._waiting:
            self._waiting.popitem()[1].end()

    async def _run(self, job: MediaJob, source: bytes | Path) -> Any:
        of, job = media_type(job), replace(job, name=clean(job.name)[:_MOST_NAME])
        if of is MediaType.PDF and not can_read():
            raise MissingPart("Reading PDFs", "documents")
        if of is MediaType.SOUND and find_spec("av") is None:
            raise MissingPart("Making voice notes", "speech")
        async with self._slots[of]:
            with await asyncio.to_thread(_file_of, source) as file:
                sign, answer = await self._asked(of, job, file.fileno())
        return _read(job, sign, answer, self.limits[of])

    async def _asked(self, of: MediaType, job: MediaJob, file: int) -> tuple[bytes, bytes]:
        if not self._argv:
            self._argv = (*await asyncio.to_thread(self._launch), sys.executable, "-I", "-B", "-c", _BEGIN)
        limits = self.limits[of]
        for process in (self._waiting.pop(of, None), None):
            with _ended(process or self._start(of)) as running:
                try:
                    async with asyncio.timeout(limits.seconds):
                        taken = await running.take(job, file)
                        found = await running.answer() if taken else None
                except TimeoutError:
                    raise over_time(job, limits) from None
            if self._ahead and of not in self._waiting:
                self._waiting[of] = self._start(of)
            if found:
                return found
            if taken:
                _log.warning("What opened %s ended without an answer (status %s).", job.name, await running.status())
                raise broke_down(job, limits)
            status = await running.status()
        raise NotStarted(self._argv, f"it ended with status {status}")

    def _start(self, of: MediaType) -> "_Process":
        limits = self.limits[of]
        try:
            words = [*self._argv, of, f"{limits.seconds}", f"{limits.memory}", *code_folders()]
            return _Process(lambda stdin: self._begin(words, stdin, limits.memory))
        except OSError as error:
            raise NotStarted(self._argv, error.strerror or str(error)) from error


def code_folders() -> tuple[str, ...]:
    """Where the packages lie that the process needs."""
    found = [spec.origin for spec in map(find_spec, _PACKAGES) if spec and spec.origin]
    return tuple(dict.fromkeys(str(Path(origin).parent.parent) for origin in found))


def program_folders() -> tuple[str, ...]:
    """All that the process has to be able to read: Python itself with every link that leads to it, and the packages."""
    return tuple(dict.fromkeys((sys.base_prefix, sys.prefix, *_links(sys.executable), *code_folders())))


def _links(path: str) -> Iterator[str]:
    """What a link leads to, and what that leads to; a virtual environment's Python is often the third."""
    place = Path(path)
    for _ in range(_MOST_LINKS):
        if not place.is_symlink():
            return
        place = place.parent / place.readlink()
        yield str(place)


class _Process:
    """One process, and the socket to it."""

    def __init__(self, begin: Callable[[int], "subprocess.Popen[bytes]"]) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        try:
            with theirs:
                # Here, on the loop's thread, and not on another: the process dies with the thread that started it.
                self._process = begin(theirs.fileno())
        except OSError:
            self._socket.close()
            raise
        threading.Thread(target=self._process.wait, name="reap", daemon=True).start()

    async def take(self, job: MediaJob, file: int) -> bool:
        """Hand it its job; whether it has begun."""
        message = msgspec.msgpack.encode(job)
        try:
            socket.send_fds(self._socket, [len(message).to_bytes(LENGTH) + message], [file])
            return await self._read(len(TAKEN)) == TAKEN
        except OSError:
            return False

    async def answer(self) -> tuple[bytes, bytes] | None:
        """The sign and what comes with it; None if it ended without."""
        try:
            head = await self._read(1 + LENGTH)
            length = int.from_bytes(head[1:])
            body = await self._read(length) if len(head) == 1 + LENGTH and length <= _MOST_ANSWER else None
        except OSError:
            return None
        return None if body is None or len(body) < length else (head[:1], body)

    async def status(self) -> int:
        """How it ended."""
        return await asyncio.to_thread(self._process.wait)

    def end(self) -> None:
        """Kill it, if it lives, with whatever it has begun. Idempotent.

        What confines it is two processes for a moment, and the inner one does not yet end with the outer one then.
        """
        self._socket.close()
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # each is a session of its own

    async def _read(self, length: int) -> bytes:
        """So many bytes; fewer where it ended."""
        read = bytearray()
        while len(read) < length:
            chunk = await asyncio.get_running_loop().sock_recv(self._socket, min(_CHUNK, length - len(read)))
            if not chunk:
                break
            read += chunk
        return bytes(read)


_MOST_ANSWER = max(limits.memory for limits in LIMITS.values())


@contextmanager
def _ended(process: _Process) -> "Iterator[_Process]":
    try:
        yield process
    finally:
        process.end()


def _file_of(source: bytes | Path) -> Any:
    """A descriptor on it, read-only or of memory, that can be handed to another process."""
    if isinstance(source, Path):
        return source.open("rb")
    file = os.fdopen(os.memfd_create("medium"), "w+b") if sys.platform == "linux" else _unnamed()
    file.write(source)
    file.seek(0)
    return file


def _unnamed() -> Any:
    import tempfile

    return tempfile.TemporaryFile()


def _read(job: MediaJob, sign: bytes, answer: bytes, limits: MediaLimits) -> Any:
    """What was answered, or why not; what a broken process says counts no more than its silence."""
    try:
        if sign == NO_MEMORY:
            raise over_memory(job, limits)
        if sign == REFUSED:
            refusal = msgspec.msgpack.decode(answer, type=JobRefusal)
            raise BadInput(refusal.what, refusal.why, refusal.then)
        if sign == ANSWERED:
            return msgspec.msgpack.decode(answer, type=ANSWERS[type(job)])
    except UNREADABLE as error:
        raise broke_down(job, limits) from error
    raise broke_down(job, limits)
