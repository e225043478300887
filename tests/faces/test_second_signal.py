"""The first TERM or Ctrl-C asks for an end; a second one is one, whatever is cleaned up meanwhile."""

import signal
from pathlib import Path

import pytest

from angelia.end_signals import SIGNALS
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import hang
from tests.batches.runs import MODEL, task_file
from tests.faces.slow_end import BEGUN
from tests.nursery import Nursery
from tests.promise.lives import environment

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("number", SIGNALS)
async def test_it_ends_a_batch_at_once(tmp_path: Path, number: signal.Signals) -> None:
    words = ["batch", str(task_file(tmp_path, {"id": "a"})), "--model", MODEL, "-o", str(tmp_path / "batch")]
    async with ModelServer([hang()]) as model, Nursery() as nursery:
        batch = await nursery.bear(words, environment(tmp_path, model), tmp_path, entry="tests.faces.slow_end:leaving")
        await model.when(lambda one: len(one.requests) == 1)
        batch.kill(signal.SIGINT)
        await batch.says(BEGUN)
        batch.kill(number)
        ended = await batch.ended()
    assert (ended.status, ended.stderr.strip()) == (-number, BEGUN)


@pytest.mark.parametrize("number", SIGNALS)
async def test_it_ends_who_serves_mcp_at_once(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "work").mkdir()
    words = ["mcp", "serve", "--http", "127.0.0.1:0", "-C", str(tmp_path / "work")]
    async with ModelServer([]) as model, Nursery() as nursery:
        env = {**environment(tmp_path, model), "ANGELIA_MODEL": MODEL}
        server = await nursery.bear(words, env, tmp_path, entry="tests.faces.slow_end:main")
        await server.says("Ctrl-C ends this.")
        server.kill(signal.SIGINT)
        await server.says(BEGUN)
        server.kill(number)
        ended = await server.ended()
    assert ended.status == -number
    assert "Traceback" not in ended.stderr
