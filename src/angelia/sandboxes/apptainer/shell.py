"""A person's shell in an instance: the program in a terminal of its own, joined to theirs."""

from collections.abc import Mapping
from pathlib import Path

from angelia.core.ids import sortable_id
from angelia.sandboxes.apptainer.instance import inside
from angelia.sandboxes.apptainer.program import ApptainerProgram
from angelia.sandboxes.by_commands.launcher import quoted
from angelia.sandboxes.local.command import Start
from angelia.sandboxes.local.local_pty import in_terminal
from angelia.sandboxes.terminal import SHELL, Terminal


async def run_shell(
    program: ApptainerProgram, instance: str, workspace: str, env: Mapping[str, str], terminal: Terminal
) -> int:
    """Run one until it ends; its status. Its terminal hangs up when we die.

    Raises:
        SandboxError: it could not be started.
    """
    variables = {**env, "TERM": terminal.kind}
    exports = " ".join(f"{name}={quoted(value)}" for name, value in variables.items())
    line = f"export {exports}; cd -- {quoted(workspace)}; {SHELL}"
    argv = program.line(*inside(instance, "/bin/sh", "-c", line))
    start = Start(argv=argv, env=program.env, mark=f"{sortable_id()}.", cwd=Path("/"), confined=False)
    return await in_terminal(start, terminal, lambda _: None)
