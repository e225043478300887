"""A long reply in a terminal: what drawing it costs, and how soon one can type."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect

from angelia.testing.model.server_process import model_server_process
from angelia.testing.model.steps import dump_steps, say
from bench.rows import Row, row
from bench.runs import ROOT, Benchmark, python
from bench.startup import model_environment

WORDS = 1_000
_PARAGRAPH = "Fifty words of a reply stand in each of these paragraphs, and some of them are **bold** or `code`. "
_TICKS = os.sysconf("SC_CLK_TCK")


def rows(bench: Benchmark) -> Iterator[Row]:
    """A conversation of its own for each round; words come a hundred a second."""
    folder = bench.place("terminal")
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "steps.json"
    words = (_PARAGRAPH * WORDS).split()[:WORDS]
    paragraphs = [" ".join(words[at : at + 50]) for at in range(0, WORDS, 50)]
    script.write_bytes(dump_steps([say("\n\n".join([*paragraphs, "ENDED"]))]))
    prompt, used, written = [], [], []
    with model_server_process("--by-replies", str(script), "--delay", "0.01") as url:
        for _ in range(3):
            began = time.perf_counter()
            argv = python("-m", "angelia", "chat", "--model", "openai-chat:scripted")
            env = {**model_environment(url, folder), "TERM": "xterm-256color"}
            child = pexpect.spawn(argv[0], argv[1:], env=env, cwd=str(ROOT), dimensions=(36, 110), timeout=60)
            child.expect_exact("›".encode())
            prompt.append(time.perf_counter() - began)
            child.expect_exact(b"ready")
            before = _seconds(child.pid)
            child.send("go on\r")
            child.expect_exact(b"ENDED")
            size = len(child.before or b"")
            child.expect_exact(b"ready")
            written.append(float(size + len(child.before or b"")))
            used.append(_seconds(child.pid) - before)
            child.close(force=True)
    yield row("terminal: start to a prompt", "s", prompt, 0.3)
    yield row(f"terminal: processor time for a reply of {WORDS:,} words", "s", used, 1.2)
    yield row(f"terminal: written for a reply of {WORDS:,} words", "kB", written, 80_000)


def _seconds(process: int) -> float:
    """Processor time that a process has used, from `/proc`."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
