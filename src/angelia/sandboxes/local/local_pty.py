"""A process of this machine in a terminal of its own, joined to a person's: what a shell runs in."""

import asyncio
import fcntl
import os
import struct
import subprocess
import termios
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import fault_words
from angelia.deadline import within
from angelia.sandboxes.local.command import Start, gated, grouped, handed_on, until_dead
from angelia.sandboxes.local.processes import MARK, end, living_tree
from angelia.sandboxes.local.resource_limits import put_limits
from angelia.sandboxes.port import SandboxError
from angelia.sandboxes.terminal import Terminal

_CHUNK = 64 * 1024


async def in_terminal(start: Start, terminal: Terminal, begun: Callable[[int], None]) -> int:
    """Run it to its end; `begun` is told its number. What it meets of its limits is written at the end. Never the
    person's own terminal: what is confined could type in that (ioctl_tty(2), TIOCSTI).

    Raises:
        SandboxError: it could not be started.
    """
    ours, theirs = os.openpty()
    try:
        _resize(ours, terminal)
        process, gate = _spawned(start, theirs)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    begun(process.pid)
    grouping = asyncio.ensure_future(asyncio.to_thread(grouped, gate, process.pid, start))
    terminal.on_resize(lambda: _resize(ours, terminal))
    typing = asyncio.create_task(_type(ours, terminal))
    showing = asyncio.create_task(_show(ours, terminal))
    try:
        await until_dead(process)
        with suppress(TimeoutError):  # somebody who was left in the background may hold the other end
            await within(0.5, asyncio.shield(showing))
    finally:
        terminal.on_resize(lambda: None)
        await cancel_and_wait(typing, showing)
        await end(lambda: living_tree(process.pid, start.mark), grace=0)
        os.close(ours)
        group = await grouping
        for note in await asyncio.to_thread(group.end) if group else ():
            terminal.write(f"\r\n{note}\r\n".encode())
        status = process.wait()
    return status if status >= 0 else 128 - status


def _spawned(start: Start, theirs: int) -> "tuple[subprocess.Popen[bytes], int]":
    """It, and what is to be closed when it may begin; -1 where it does by itself."""
    passed, gate = list[int](), -1
    try:
        argv = handed_on(start, passed)
        if start.limits:
            gate = gated(argv, passed)
        process = subprocess.Popen(  # noqa: S603 - the person's own shell
            argv,
            env={**start.env, MARK: start.mark},
            cwd=start.cwd,
            pass_fds=(theirs, *passed),
            preexec_fn=partial(os.login_tty, theirs),
        )
        if start.limits:
            put_limits(process.pid, start.limits)
    except (OSError, ValueError) as error:
        if gate >= 0:
            os.close(gate)
        raise SandboxError(f"No shell could be started: {fault_words(error)}.") from error
    else:
        return process, gate
    finally:
        for handle in passed:
            os.close(handle)


def _resize(ours: int, terminal: Terminal) -> None:
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", *terminal.size, 0, 0))


async def _type(ours: int, terminal: Terminal) -> None:
    while data := await terminal.read():
        while data:
            try:
                data = data[os.write(ours, data) :]
            except BlockingIOError:
                await _ready(ours, write=True)
            except OSError:  # nobody is there any more
                return


async def _show(ours: int, terminal: Terminal) -> None:
    os.set_blocking(ours, False)
    while True:
        try:
            data = os.read(ours, _CHUNK)
        except BlockingIOError:
            await _ready(ours, write=False)
            continue
        except OSError:  # EIO: nobody holds the other end any more (pty(7))
            return
        if not data:
            return
        terminal.write(data)


async def _ready(handle: int, *, write: bool) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    wake = partial(_wake, ready)
    if write:
        loop.add_writer(handle, wake)
    else:
        loop.add_reader(handle, wake)
    try:
        await ready
    finally:
        if write:
            loop.remove_writer(handle)
        else:
            loop.remove_reader(handle)


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
