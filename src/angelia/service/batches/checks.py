"""Looks at what was done for a task, in the sandbox in which it was done: by a Python file, or by a command there."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.errors import AngeliaError, BadInput
from angelia.sandboxes.port import Command, FileKind, NoSuchFile, Reach, Sandbox, SandboxError, reach_here
from angelia.service.batches.check_process import CheckProcesses
from angelia.service.batches.results import answer_of, last_ending
from angelia.service.batches.tasks import Task, is_python
from angelia.service.batches.trials import TaskTrial
from angelia.service.batches.verdict import of_command
from angelia.service.files.transfers import bring, fetch
from angelia.store.media.blobs import BlobStore

_MOST_OUTPUT = 10_000_000
"""Bytes that a command may write; who writes more is ended."""
_KEPT = 1_000_000
_SETUP_SECONDS = 600.0
_MOST_READ = 64_000_000


class CheckedWork(Struct, frozen=True):
    """What a check looks at: the trial, the sandbox in which it was done, and its log."""

    trial: TaskTrial
    sandbox: Sandbox
    entries: Sequence[e.Entry]
    blobs: BlobStore

    @property
    def deliveries(self) -> list[Media]:
        """The files that were sent, in order."""
        sent = (entry.fact for entry in self.entries if isinstance(entry.fact, e.DeliveryQueued))
        return [part for fact in sent for part in fact.parts if isinstance(part, Media)]


async def put_files(sandbox: Sandbox, task: Task, files: Mapping[str, str], texts: Mapping[str, str]) -> None:
    """Put files of this machine, and texts, where a task wants them.

    Raises:
        BadInput, SandboxError: one cannot be read, or put.
    """
    for place, name in files.items():
        await bring(sandbox, task.path(name), place, _unheard)
    for place, text in texts.items():
        await _write(sandbox, place, text.encode())


async def set_up(sandbox: Sandbox, task: Task) -> None:
    """Run what a task wants done before the model is asked.

    Raises:
        BadInput: it failed; says how.
        SandboxError: it could not be run.
    """
    if not task.setup:
        return
    ran = await _ran(sandbox, Command(shell=task.setup, seconds=_SETUP_SECONDS))
    if ran.status or ran.timed_out:
        how = f"did not end within {_SETUP_SECONDS:.0f} s" if ran.timed_out else f"ended with {ran.status}"
        raise BadInput(f"The set-up of the task {task.id} {how}: {ran.output.strip()[-500:]}")


async def checked(work: CheckedWork, processes: CheckProcesses) -> e.Checked:
    """What the task's check says of it; whatever the check does comes to an outcome."""
    task = work.trial.task
    try:
        await put_files(work.sandbox, task, task.check_files, {})
        if is_python(task.check):
            return await processes.check(
                task.check, _told(work), lambda asked: _served(work, asked), task.check_seconds
            )
        return await _by_command(work)
    except SandboxError as error:
        return e.Checked(e.CheckOutcome.SANDBOX_GONE, why=f"The sandbox could not be used for the check: {error}")


async def _by_command(work: CheckedWork) -> e.Checked:
    task = work.trial.task
    ran = await _ran(work.sandbox, Command(shell=task.check, seconds=task.check_seconds))
    if ran.flooded:
        why = f"The check wrote more than {_MOST_OUTPUT // 1_000_000} MB, and was ended."
        return e.Checked(e.CheckOutcome.FLOODED, why=why, seconds=ran.seconds)
    if ran.timed_out:
        why = f"The check did not end within {task.check_seconds:g} s, and was ended."
        return e.Checked(e.CheckOutcome.HUNG, why=why, seconds=ran.seconds)
    return of_command(ran.status, ran.output, ran.seconds)


class _Ran(Struct, frozen=True):
    status: int
    output: str
    timed_out: bool
    flooded: bool
    seconds: float


async def _ran(sandbox: Sandbox, command: Command) -> _Ran:
    running = await sandbox.start(msgspec.structs.replace(command, reach=await reach_here(sandbox, Reach.CONFINED)))
    written, kept, flooded = 0, b"", False
    try:
        async for chunk in running.output():
            written += len(chunk)
            kept = (kept + chunk)[-_KEPT:]
            if written > _MOST_OUTPUT and not flooded:
                flooded = True
                await running.kill()
        ended = await running.wait()
    except asyncio.CancelledError:  # nobody waits for it any more
        await running.kill()
        raise
    text = kept.decode(errors="replace")
    return _Ran(ended.status, text, ended.timed_out, flooded, ended.seconds)


def _told(work: CheckedWork) -> dict[str, Any]:
    ending = last_ending(work.entries)
    task = work.trial.task
    return {
        "task": task.id,
        "data": task.data,
        "folder": task.folder,
        "seconds": task.check_seconds,
        "model": work.trial.model,
        "answer": answer_of(work.entries),
        "ending": type(ending).__name__ if ending else "",
        "deliveries": [
            {"number": number, "name": media.name, "mime": media.blob.mime, "size": media.blob.size}
            for number, media in enumerate(work.deliveries)
        ],
    }


class _Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What a check in Python asks for, as `CheckContext` sends it."""

    ask: Literal["run", "read", "write", "get", "put", "list", "save", "log"]
    path: str = ""
    data: bytes = b""
    source: str = ""
    target: str = ""
    shell: str = ""
    argv: tuple[str, ...] = ()
    seconds: float = 0.0
    number: int = 0


async def _served(work: CheckedWork, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a check in Python asked for, or why it cannot be had."""
    try:
        meant = msgspec.convert(asked, _Asked)
        if meant.ask == "run" and not (meant.shell or meant.argv):
            raise msgspec.ValidationError("a command without a word")
        if meant.ask == "save" and not 0 <= meant.number < len(work.deliveries):
            raise msgspec.ValidationError(f"so many were sent: {len(work.deliveries)}; not the number {meant.number}")
    except msgspec.ValidationError as error:
        return {"wrong": str(error)}
    try:
        return {"value": await _value(work, meant)}
    except (AngeliaError, OSError) as error:
        missing = isinstance(error, NoSuchFile) and await _stands(work.sandbox)
        return {"why": str(error), "missing": missing}


async def _stands(sandbox: Sandbox) -> bool:
    """Whether its workspace is there: without it no file is, and that is no answer to the check's question."""
    try:
        return (await sandbox.stat(".")).kind is FileKind.FOLDER
    except SandboxError:
        return False


async def _value(work: CheckedWork, asked: _Asked) -> object:
    sandbox = work.sandbox
    match asked.ask:
        case "run":
            ran = await _ran(sandbox, Command(asked.argv, asked.shell, seconds=asked.seconds))
            return {"status": ran.status, "output": ran.output, "timed_out": ran.timed_out}
        case "read":
            return b"".join([chunk async for chunk in sandbox.get(asked.path, limit=_MOST_READ)])
        case "write":
            await _write(sandbox, asked.path, asked.data)
        case "get":
            await fetch(sandbox, asked.path, Path(asked.target), _unheard)
        case "put":
            await bring(sandbox, Path(asked.source), asked.path, _unheard)
        case "list":
            there = [entry async for entry in sandbox.list(asked.path)]
            names = ((Path(entry.path).name, entry.kind is FileKind.FOLDER) for entry in there)
            return sorted(f"{name}/" if folder else name for name, folder in names)
        case "save":
            media = work.deliveries[asked.number]
            await asyncio.to_thread(work.blobs.copy, media.blob, Path(asked.target))
        case "log":
            return [msgspec.to_builtins(entry) for entry in work.entries]
    return None


async def _write(sandbox: Sandbox, path: str, data: bytes) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield data

    await sandbox.put(path, content(), size=len(data), sha256=hashlib.sha256(data).hexdigest())


def _unheard(done: int, size: int) -> None:
    """A batch tells of tasks, not of bytes."""
