"""JupyterLab, which nobody here wrote: a cell is run, files go up and come down, as its server's folder tells."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.service.chats.open_channel import wait
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step
from tests.browsers.visitor import Visitor
from tests.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium"), pytest.mark.real("jupyterlab")]

PYTHON = Path(__file__).parents[2] / ".tools" / "jupyterlab" / "bin" / "python"
TOKEN = "tea"
STARTS_S = 240.0
"""Its first start compiles what it imports."""
EMPTY = {
    "cells": [{"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": []}],
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
CODE = 'open("ran.txt", "w").write(str(6 * 7))\nprint("six times seven is", 6 * 7)'


@asynccontextmanager
async def jupyter_lab(folder: Path) -> AsyncIterator[str]:
    """One whose files are in this folder; where it is, by a name that leads to this machine."""
    port = free_port()
    words = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    settings = [f"--IdentityProvider.token={TOKEN}", "--ServerApp.allow_remote_access=True"]
    env = {"HOME": str(folder.parent), "PATH": os.environ["PATH"], "IPYTHONDIR": str(folder.parent / "ipython")}
    with (folder.parent / "log").open("wb") as told:
        argv = [str(PYTHON), "-m", "jupyterlab", *words, *settings]
        process = await asyncio.create_subprocess_exec(*argv, cwd=folder, env=env, stdout=told, stderr=told)
        try:
            async with asyncio.timeout(STARTS_S):
                while not await _answers(port):
                    assert process.returncode is None, (folder.parent / "log").read_text()[-2000:]
                    await wait(None, 0.2)
            yield f"http://site.example:{port}"
        finally:
            if process.returncode is None:
                process.terminate()  # it ends its kernels
            await process.wait()


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@pytest.mark.soak
async def test_a_cell_is_run_and_a_file_goes_up_and_comes_down(tools: ToolHarness, tmp_path: Path) -> None:
    (folder := tmp_path / "lab" / "files").mkdir(parents=True)
    (folder / "Work.ipynb").write_text(json.dumps(EMPTY))
    (tools.root / "rows.csv").write_text("a,b\n1,2\n")
    visitor = Visitor(tools)
    async with jupyter_lab(folder) as at:
        await visitor.open(f"{at}/lab/tree/Work.ipynb?token={TOKEN}")
        await visitor.act(("wait", "", "Work.ipynb"))
        await visitor.act(("wait", "", "[ ]:"))
        cell = visitor.ref("textbox")
        ran = await visitor.do(
            Step("fill", cell, CODE), Step("press", text="Shift+Enter"), Step("wait", text="six times seven is 42")
        )
        assert "3. wait: done" in ran
        assert (folder / "ran.txt").read_text() == "42"
        await visitor.act(
            ("click", 'button "Save and create checkpoint', ""), ("upload", 'button "Upload Files"', "rows.csv")
        )
        await visitor.act(("wait", "", "rows.csv"))
        assert (folder / "rows.csv").read_text() == "a,b\n1,2\n"
        saved = json.loads((folder / "Work.ipynb").read_text())
        assert saved["cells"][0]["outputs"][0]["text"] == ["six times seven is 42\n"]

        await visitor.act(("click", 'tab "rows.csv"', ""), ("click", 'menuitem "File"', ""))
        came = await visitor.act(("download", 'menuitem "Download"', "down.csv"))
        assert "put at down.csv" in came
        assert (tools.root / "down.csv").read_text() == "a,b\n1,2\n"
