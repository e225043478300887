"""Rows about a command that writes a hundred megabytes: what the whole `ask` takes until it is kept and answered."""

from collections.abc import Iterator

from angelia.testing.model.server_process import model_server_process
from angelia.testing.model.steps import call, dump_steps, say
from bench.rows import Row, row
from bench.runs import Benchmark, angelia, run
from bench.startup import model_environment

_LAST = 109_999_999
"""From a hundred million on each line is ten bytes."""


def rows(bench: Benchmark) -> Iterator[Row]:
    """One `ask`; its yardstick is the command by itself."""
    home = bench.place("outputs")
    (workspace := home / "workspace").mkdir()
    command = f"seq 100000000 {_LAST}"
    steps = home / "steps.json"
    steps.write_bytes(dump_steps([call("shell", {"command": command}), say("There.")]))
    with model_server_process("--by-replies", str(steps)) as url:
        argv = angelia("ask", "--model", "openai-chat:scripted", "--set", "sandbox.confine=off", "go")
        took = run(argv, env=model_environment(url, home), cwd=workspace)
    yield row("a command that writes 100 MB: wall", "s", took.wall)
    yield row("    CPU, the command's included", "s", took.cpu)
    yield row("    peak memory", "MB", took.memory, 60e6)
