"""A sandbox that a harness lends, where a line can be run and is told once it has ended: streams go by files there."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.harness.lending import lent
from angelia.sandboxes.harness.sandbox import HarnessSandbox
from angelia.sandboxes.port import Command, Sandbox, SandboxGone, SandboxMissing
from angelia.sandboxes.registry import open_sandbox
from angelia.testing.sandboxes.acts import SandboxCheck, Sizes, shell
from angelia.testing.sandboxes.commands import COMMAND_CLAIMS
from angelia.testing.sandboxes.files import FILE_CLAIMS
from angelia.testing.sandboxes.input import INPUT_CLAIMS
from tests.examples import TIMES

pytestmark = pytest.mark.anyio

NAMES = [
    "a_status_is_told",
    "output_is_bytes",
    "input_arrives_and_ends",
    "a_missing_working_folder_is_an_error",
    "a_time_out_ends_the_whole_tree",
    "kill_ends_the_whole_tree_and_may_be_repeated",
    "output_is_seen_while_it_is_made",
    "a_flood_of_output_is_whole_and_takes_no_memory",
    "a_flood_nobody_reads_is_held_back_and_can_be_ended",
    "many_run_side_by_side",
    "a_command_is_talked_to_line_by_line",
    "what_is_written_arrives_as_it_is",
    "errors_that_are_apart_are_kept_at_their_end",
    "what_nobody_reads_is_held_back_and_let_go_by_kill",
    "a_large_file_arrives_both_ways",
    "what_has_no_end_is_not_read",
]
"""Claims that differ where streams go by files; `test_byexec` has others, by the same launcher and scripts; a soak
tries all here.
"""
CLAIMS = {claim.__name__: claim for claim in (*COMMAND_CLAIMS, *INPUT_CLAIMS, *FILE_CLAIMS)}
OUTSIDE = {"links_to_the_outside_are_refused", "what_is_swapped_in_while_we_read_leads_nowhere"}
"""Nothing is outside of a task's sandbox: all of it may be read, so these do not hold here."""
SOAKED = [name for name in CLAIMS if TIMES and name not in {*NAMES, *OUTSIDE}]
SIZES = Sizes(sparse=1_000_000, real=1_000_000, output=2_000_000, files=20, at_once=20 if TIMES else 3)
"""Twenty commands at once hold as well, and take thirty seconds of a processor: a third is spent on looking for what
comes out ten times a second, the rest by launchers on looking for what lives of their commands.
"""


class Ended(NamedTuple):
    """How a line ended."""

    stdout: str | None
    stderr: str | None
    return_code: int


class Lines:
    """A harness's environment: lines run in a folder of this machine, with words for output, and no input."""

    def __init__(self, folder: Path, path: str | None = None) -> None:
        """`path` is where programs are found there."""
        self._folder, self._env = folder, {"PATH": path} if path else None

    async def exec(self, command: str, /) -> Ended:
        """Run one to its end."""
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", command), cwd=self._folder, env=self._env, stdin=nothing, stdout=pipe, stderr=pipe
        )
        try:
            said, complained = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        assert process.returncode is not None
        return Ended(said.decode(errors="replace") or None, complained.decode(errors="replace"), process.returncode)


class Broken(Lines):
    """One that runs nothing any more."""

    async def exec(self, command: str, /) -> Ended:
        """Say so in words of its own."""
        raise RuntimeError("the container was reaped")


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("name", [*NAMES, *SOAKED])
async def test_it_keeps_the_promise(name: str, tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        sandbox = HarnessSandbox(Lines(workspace), str(workspace))
        try:
            yield sandbox
        finally:
            await sandbox.close()

    check = SandboxCheck(name, CLAIMS[name], SIZES)
    await check.run(make)


async def test_what_is_lent_can_be_opened_until_it_is_taken_back(tmp_path: Path) -> None:
    with lent(Lines(tmp_path), str(tmp_path)) as spec:
        place = SandboxContext("one", str(tmp_path), tmp_path / "home", tmp_path / "state")
        sandbox = open_sandbox(spec, place, {})
        assert await shell(sandbox, "pwd") == str(tmp_path)
        await sandbox.close()
    with pytest.raises(SandboxMissing, match="whose task has ended"):
        open_sandbox(spec, place, {})


async def test_a_harness_that_runs_nothing_any_more_is_told_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(SandboxGone, match="the container was reaped"):
        await HarnessSandbox(Broken(tmp_path), "/app").start(Command(shell="true"))


@pytest.mark.parametrize("missing", ["base64", "dd"])
async def test_a_sandbox_without_what_carries_its_streams_is_told_at_once(missing: str, tmp_path: Path) -> None:
    (programs := tmp_path / "programs").mkdir()
    for name in {"base64", "cat", "dd", "head", "mkdir", "mv", "rm", "sleep", "tail", "tr"} - {missing}:
        (programs / name).symlink_to(str(shutil.which(name)))
    sandbox = HarnessSandbox(Lines(tmp_path, str(programs)), str(tmp_path))
    with pytest.raises(SandboxGone, match=f"it has no `{missing}`"):
        await shell(sandbox, "pwd")
    await sandbox.close()
