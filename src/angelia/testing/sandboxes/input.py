"""Claims about commands that are talked to while they run, which every sandbox must meet."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator

from angelia.sandboxes.port import KEPT_ERRORS, Command, InputClosed, Running, Sandbox, StderrMode, StdinMode
from angelia.testing.claims import expect
from angelia.testing.memory import Peak
from angelia.testing.sandboxes.acts import MB, Make, Sizes, refused, said, script, shell

_MOST = 30 * MB
"""Bytes of memory that talking may take."""
_MUCH = 10 * MB
"""Bytes that go through one command."""


async def a_command_is_talked_to_line_by_line(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        running = await _open(sandbox, "while read -r line; do echo got $line; done; echo over")
        output = running.output()
        for word in ("one", "two", "three"):
            await running.write(f"{word}\n".encode())
            heard = await _until(output, b"\n")
            expect(heard == f"got {word}\n".encode(), f"to {word!r} it answered {heard!r}")
        await running.close_input()
        rest = b"".join([chunk async for chunk in output])
        end = await running.wait()
        expect((rest, end.status) == (b"over\n", 0), f"at the end of its input it said {rest!r} and ended with {end}")


async def what_is_written_arrives_as_it_is(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        pieces = [
            bytes(range(256)),
            b"\0",
            b"",
            b"\n\n",
            b"\r\n",
            b"\x04\x03\x1a",
            b"end\n",
            b"go\n",
            b"no end of a line",
        ]
        running = await _open(sandbox, "cat")
        for piece in pieces:
            await running.write(piece)
        await running.close_input()
        came = b"".join([chunk async for chunk in running.output()])
        expect(came == b"".join(pieces), f"{b''.join(pieces)!r} went in, and {came!r} came out")


async def much_goes_through_a_command_in_little_memory(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        noise, went, came, length = os.urandom(MB - 7), hashlib.sha256(), hashlib.sha256(), 0
        running = await _open(sandbox, "cat")
        peak = Peak()

        async def talk() -> None:
            for _ in range(_MUCH // MB):
                went.update(noise)
                await running.write(noise)
            await running.close_input()

        talking = asyncio.create_task(talk())
        async for chunk in running.output():
            came.update(chunk)
            length += len(chunk)
        await talking
        expect(came.digest() == went.digest(), f"what went through `cat` came back changed, {length} bytes long")
        expect(peak.grown() < _MOST, f"{peak.grown()} bytes of memory were taken")


async def writers_take_turns(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        running = await _open(sandbox, "cat")
        length = MB  # more than any room sends at once
        long = [bytes([letter]) * length for letter in b"abc"]
        reading = asyncio.create_task(_all(running))
        await asyncio.gather(*map(running.write, long))
        await running.close_input()
        came = await reading
        parts = [came[at : at + length] for at in range(0, len(came), length)]
        expect(sorted(parts) == long, "what several wrote at once was mixed")


async def two_that_are_talked_to_hear_nothing_of_each_other(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        both = [await _open(sandbox, "cat") for _ in range(2)]
        for turn in range(5):
            for number, running in enumerate(both):
                await running.write(b"%d %d\n" % (number, turn))
        await both[0].close_input()
        first = await _all(both[0])
        await both[1].write(b"1 last\n")
        await both[1].close_input()
        second = await _all(both[1])
        expect(first == b"".join(b"0 %d\n" % turn for turn in range(5)), f"the first heard {first!r}")
        expect(second == b"".join(b"1 %d\n" % turn for turn in range(5)) + b"1 last\n", f"the second heard {second!r}")


async def an_input_that_was_closed_takes_nothing(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        running = await _open(sandbox, "cat; echo still here; sleep 1000")
        await running.close_input()
        await running.close_input()
        heard = await _until(running.output(), b"\n")
        expect(heard == b"still here\n", f"at the end of its input it said {heard!r}")
        await refused(running.write(b"more\n"), InputClosed)
        await running.kill()
        given = await sandbox.start(script("cat"))
        await refused(given.write(b"more\n"), InputClosed)
        await given.close_input()
        await given.wait()


async def a_command_that_has_ended_takes_nothing(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        running = await _open(sandbox, "read -r line; exit 3")
        await running.write(b"go on\n")
        end = await running.wait()
        expect(end.status == 3, f"it ended with {end}")
        await refused(running.write(b"more\n"), InputClosed)
        await running.close_input()


async def what_nobody_reads_is_held_back_and_let_go_by_kill(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        running = await _open(sandbox, "echo on; sleep 1000")
        await _until(running.output(), b"\n")
        peak, noise, written = Peak(), bytes(MB), 0

        async def flood() -> None:
            nonlocal written
            while True:
                await running.write(noise)
                written += MB

        flooding = asyncio.create_task(flood())
        for _ in range(10):
            await shell(sandbox, "true")  # meanwhile as much goes as is let in
        expect(not flooding.done(), "a flood of input ended by itself")
        expect(written < sizes.output, f"{written} bytes were taken of an input that nobody reads")
        await running.kill()
        await refused(flooding, InputClosed)
        await running.wait()
        expect(peak.grown() < _MOST, f"{peak.grown()} bytes of memory were taken")


async def closing_ends_who_waits_for_input(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        running = await _open(sandbox, "cat")
        await sandbox.close()
        end = await running.wait()
        expect(end.status != 0, f"a command that waited for input ended with {end}")
        await refused(running.write(b"more\n"), InputClosed)


async def errors_that_are_apart_are_kept_at_their_end(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        line = "i=0; while [ $i -lt 5000 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done; printf 'the end' >&2"
        running = await sandbox.start(Command(shell=line, errors=StderrMode.APART))
        output = await _all(running)
        await running.wait()
        expect(output == b"".join(b"out%d\n" % n for n in range(5000)), f"errors are in the output: {output[-200:]!r}")
        errors = b"".join(b"err%d\n" % n for n in range(5000)) + b"the end"
        kept = running.last_errors
        expect(kept == errors[-KEPT_ERRORS:], f"{len(kept)} bytes of errors were kept: {kept[-200:]!r}")
        merged, _ = await said(sandbox, script("echo both >&2"))
        expect(merged == b"both\n", f"merged errors came as {merged!r}")


async def _open(sandbox: Sandbox, line: str) -> Running:
    return await sandbox.start(Command(shell=line, input=StdinMode.OPEN))


async def _all(running: Running) -> bytes:
    return b"".join([chunk async for chunk in running.output()])


async def _until(output: AsyncIterator[bytes], end: bytes) -> bytes:
    """What comes up to an end."""
    held = b""
    while not held.endswith(end):
        held += await anext(output)
    return held


INPUT_CLAIMS = (
    a_command_is_talked_to_line_by_line,
    what_is_written_arrives_as_it_is,
    much_goes_through_a_command_in_little_memory,
    writers_take_turns,
    two_that_are_talked_to_hear_nothing_of_each_other,
    an_input_that_was_closed_takes_nothing,
    a_command_that_has_ended_takes_nothing,
    what_nobody_reads_is_held_back_and_let_go_by_kill,
    closing_ends_who_waits_for_input,
    errors_that_are_apart_are_kept_at_their_end,
)
