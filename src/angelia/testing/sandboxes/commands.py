"""Claims about commands that every sandbox must meet."""

import asyncio
import signal

from angelia.sandboxes.port import Command, NoSuchFile, Running, Sandbox
from angelia.testing.claims import expect
from angelia.testing.sandboxes.acts import MB, Make, Sizes, arrives, refused, said, script, shell
from angelia.testing.sandboxes.large import LARGE_OUTPUT

_TREE = "exec 9> beat; $(command -v setsid) sleep 1000 & "
"""Holds the FIFO `beat` open, as does all it starts; among that something that has left the session."""


_KEPT = 2.5
"""Seconds that a command with 0.3 s of time may live: TERM is answered within one, and machines are busy."""


async def a_status_is_told(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        for status in (0, 1, 3, 255):
            _, end = await said(sandbox, script(f"exit {status}"))
            expect((end.status, end.signal) == (status, 0), f"`exit {status}` ended with {end}")


async def a_signal_is_told(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            _, end = await said(sandbox, script(f"kill -{int(number)} $$"))
            expect((end.status, end.signal) == (-1, number), f"a command that ended by {number.name} is told as {end}")


async def words_are_not_a_shell_line(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        words = ("a b", "$HOME", "*", "'\"", "", "--help", ";exit 3", "é🦊", "two\nlines")
        output, end = await said(sandbox, Command(argv=("printf", "%s|", *words)))
        expect(output.decode() == "".join(f"{word}|" for word in words), f"words came out as {output!r}")
        expect(end.status == 0, f"printf ended with {end}")


async def a_missing_program_is_status_127(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        for command in (Command(argv=("no-such-program-anywhere",)), script("no-such-program-anywhere")):
            output, end = await said(sandbox, command)
            expect(end.status == 127, f"a missing program ended with {end}")
            expect(b"no-such-program-anywhere" in output, f"a missing program is not named: {output!r}")


async def output_and_errors_keep_their_order(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        output, _ = await said(sandbox, script("for i in 1 2 3; do echo out$i; echo err$i >&2; done"))
        expect(output == b"out1\nerr1\nout2\nerr2\nout3\nerr3\n", f"the order was lost: {output!r}")


async def output_is_bytes(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        output, _ = await said(sandbox, script("printf 'gr\\303\\274n \\360\\237\\246\\212 \\377\\000\\001'"))
        expect(output == b"gr\xc3\xbcn \xf0\x9f\xa6\x8a \xff\x00\x01", f"bytes were changed: {output!r}")


async def no_output_is_no_output(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        output, end = await said(sandbox, Command(argv=("true",)))
        expect((output, end.status) == (b"", 0), f"`true` said {output!r} and ended with {end}")


async def input_arrives_and_ends(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        data = bytes(range(256)) * 2000
        output, _ = await said(sandbox, Command(argv=("cat",), stdin=data))
        expect(output == data, f"{len(data)} bytes went in and {len(output)} came out")


async def a_command_that_waits_for_input_gets_none(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        output, end = await said(sandbox, script("read line; echo status $?", seconds=30))
        expect(output == b"status 1\n", f"reading from no input gave {output!r}, {end}")


async def input_nobody_reads_stops_nobody(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        output, end = await said(sandbox, script("exec 0<&-; echo done", stdin=b"x" * (4 * MB), seconds=30))
        expect((output, end.status) == (b"done\n", 0), f"it said {output!r} and ended with {end}")


async def the_working_folder_is_obeyed(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await shell(sandbox, "mkdir -p 'a b/c'")
        output, _ = await said(sandbox, script("pwd", cwd="a b/c"))
        workspace = (await sandbox.describe()).workspace
        expect(output.decode().strip() == f"{workspace}/a b/c", f"`pwd` said {output!r}")
        expect(await shell(sandbox, "pwd") == workspace, "without a folder it does not start in the workspace")


async def a_missing_working_folder_is_an_error(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await refused(sandbox.start(script("pwd", cwd="nowhere")), NoSuchFile)


async def variables_are_given_and_nothing_else(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        output, _ = await said(sandbox, Command(argv=("env",), env={"SAID": "a b$c"}))
        variables = dict(line.split("=", 1) for line in output.decode().splitlines() if "=" in line)
        expect(variables.get("SAID") == "a b$c", f"a variable was changed: {variables.get('SAID')!r}")
        expect(bool(variables.get("PATH")) and bool(variables.get("HOME")), f"PATH or HOME is missing: {variables}")
        expect(variables.get("TERM", "dumb") == "dumb", "a command is told it has a terminal")


async def a_time_out_ends_the_whole_tree(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        victim, witness = await _with_a_witness(sandbox, f"{_TREE} sleep 1000", seconds=0.5)
        end = await victim.wait()
        await _nobody_is_left(sandbox, witness)
        expect(end.timed_out, f"a command that ran out of time is told as {end}")


async def a_time_out_is_kept_against_a_command_that_ignores_term_and_floods(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        flood = "while :; do echo 'a line of a flood that nobody stops by asking'; done & trap '' TERM"
        ticks = "i=0; while sleep 0.1; do i=$((i + 1)); echo $i >ticks; done"  # each takes a tenth of a second at least
        running = await sandbox.start(script(f"trap '' TERM; {flood}; {ticks}", seconds=0.3))
        async for _ in running.output():
            pass
        end = await running.wait()
        expect(end.timed_out and end.signal == signal.SIGKILL, f"a flood that ran out of time is told as {end}")
        lived = int((await arrives(sandbox, "ticks")) or b"0") / 10
        expect(lived <= _KEPT, f"with 0.3 s of time it lived on for {lived} s")


async def a_command_that_ignores_term_is_killed(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        victim, witness = await _with_a_witness(sandbox, f"trap '' TERM; {_TREE} echo on; sleep 1000")
        await anext(victim.output())  # it ignores TERM now
        await victim.kill()
        end = await victim.wait()
        expect(end.signal == signal.SIGKILL, f"a command that ignores TERM ended with {end}")
        await _nobody_is_left(sandbox, witness)


async def kill_ends_the_whole_tree_and_may_be_repeated(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        victim, witness = await _with_a_witness(sandbox, f"{_TREE} echo on; sleep 1000")
        await anext(victim.output())
        await asyncio.gather(victim.kill(), victim.kill())
        await victim.kill()
        end = await victim.wait()
        expect(end.signal in (signal.SIGTERM, signal.SIGKILL), f"a killed command is told as {end}")
        await _nobody_is_left(sandbox, witness)


async def term_leaves_time_to_tidy_up(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        line = "trap 'echo tidy; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
        running = await sandbox.start(script(line))
        output = b""
        async for chunk in running.output():
            output += chunk
            if output == b"ready\n":
                killing = asyncio.create_task(running.kill())
        await killing
        end = await running.wait()
        # between the two a shell may remark that its `sleep` was ended as well
        expect(output.endswith(b"tidy\n") and end.status == 7, f"it said {output!r} and ended with {end}")


async def a_daemon_stops_nobody(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        # it keeps the output open, and would for 1000 s
        output, end = await said(sandbox, script("$(command -v setsid) sleep 1000 & echo done", seconds=60))
        expect(output == b"done\n", f"it said {output!r}")
        expect((end.status, end.timed_out) == (0, False), f"a command with a daemon ended with {end}")


async def closing_the_output_early_is_not_the_end(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        output, end = await said(sandbox, script("echo first; exec >&- 2>&-; sleep 0.2; exit 5"))
        expect((output, end.status) == (b"first\n", 5), f"it said {output!r} and ended with {end}")


async def output_is_seen_while_it_is_made(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await shell(sandbox, "mkfifo go")
        running = await sandbox.start(script("echo first; cat go; echo second"))
        output = running.output()
        expect(await anext(output) == b"first\n", "the first line did not come by itself")
        _, end = await said(sandbox, script("echo now > go"))
        rest = b"".join([chunk async for chunk in output])
        expect(rest == b"now\nsecond\n", f"the rest was {rest!r} ({end})")


async def a_flood_nobody_reads_is_held_back_and_can_be_ended(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        running = await sandbox.start(Command(argv=("yes",)))
        output = running.output()
        await anext(output)
        await running.kill()
        end = await running.wait()
        expect(end.signal in (signal.SIGTERM, signal.SIGKILL), f"it ended with {end}")


async def many_run_side_by_side(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        ends = await asyncio.gather(
            *(said(sandbox, script(f"echo {n}; cat >/dev/null; exit {n}")) for n in range(sizes.at_once))
        )
        for n, (output, end) in enumerate(ends):
            expect((output, end.status) == (b"%d\n" % n, n), f"number {n} said {output!r} and ended with {end}")


async def closing_ends_what_runs_and_may_be_repeated(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        running = await sandbox.start(Command(argv=("sleep", "1000")))
        await sandbox.close()
        await sandbox.close()
        end = await running.wait()
        expect(end.signal in (signal.SIGTERM, signal.SIGKILL), f"it ended with {end}")


async def _with_a_witness(sandbox: Sandbox, line: str, *, seconds: float = 0.0) -> tuple[Running, Running]:
    await shell(sandbox, "mkfifo beat")
    witness = await sandbox.start(script("cat beat"))
    return await sandbox.start(script(line, seconds=seconds)), witness


async def _nobody_is_left(sandbox: Sandbox, witness: Running) -> None:
    """The witness ends when the last that holds the FIFO is gone; in case nobody came so far, we do for a moment."""
    await shell(sandbox, ": <> beat")
    await witness.wait()


COMMAND_CLAIMS = (
    a_status_is_told,
    a_signal_is_told,
    words_are_not_a_shell_line,
    a_missing_program_is_status_127,
    output_and_errors_keep_their_order,
    output_is_bytes,
    no_output_is_no_output,
    input_arrives_and_ends,
    a_command_that_waits_for_input_gets_none,
    input_nobody_reads_stops_nobody,
    the_working_folder_is_obeyed,
    a_missing_working_folder_is_an_error,
    variables_are_given_and_nothing_else,
    a_time_out_ends_the_whole_tree,
    a_time_out_is_kept_against_a_command_that_ignores_term_and_floods,
    a_command_that_ignores_term_is_killed,
    kill_ends_the_whole_tree_and_may_be_repeated,
    term_leaves_time_to_tidy_up,
    a_daemon_stops_nobody,
    closing_the_output_early_is_not_the_end,
    output_is_seen_while_it_is_made,
    *LARGE_OUTPUT,
    a_flood_nobody_reads_is_held_back_and_can_be_ended,
    many_run_side_by_side,
    closing_ends_what_runs_and_may_be_repeated,
)
