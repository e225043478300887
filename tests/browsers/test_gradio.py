"""Gradio, which nobody here wrote, in a frame of another site's page: filled in, a file up and one down."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step
from tests.browsers.site import Site
from tests.browsers.visitor import Visitor
from tests.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium"), pytest.mark.real("gradio")]

PYTHON = Path(__file__).parents[2] / ".tools" / "gradio" / "bin" / "python"
STARTS_S = 240.0
"""Its first start compiles what it imports."""
APP = """
import json, sys
from pathlib import Path

import gradio

def count(name, given):
    words = Path(given).read_text()
    told = Path("told.txt")
    told.write_text(words.upper())
    Path("asked.json").write_text(json.dumps([name, words]))
    return f"{name} gave {len(words)} letters", str(told)

app = gradio.Interface(count, [gradio.Textbox(label="Name"), gradio.File(label="Words")],
    [gradio.Textbox(label="Said"), gradio.File(label="Louder")], flagging_mode="never")
app.launch(server_name="127.0.0.1", server_port=int(sys.argv[1]), prevent_thread_lock=True, quiet=True)
print("up", flush=True)
app.block_thread()
"""


@asynccontextmanager
async def gradio_app(folder: Path) -> AsyncIterator[int]:
    """One that writes into this folder, by its port."""
    port = free_port()
    (folder / "app.py").write_text(APP)
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1"}
    with (folder / "log").open("wb") as told:
        process = await asyncio.create_subprocess_exec(
            str(PYTHON), "app.py", str(port), cwd=folder, env=env, stdout=asyncio.subprocess.PIPE, stderr=told
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(STARTS_S):
                while (line := await process.stdout.readline()).strip() != b"up":
                    assert line, (folder / "log").read_text()[-2000:]
            yield port
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


@pytest.mark.soak
async def test_a_form_in_a_frame_is_filled_in_with_a_file_and_gives_one_back(
    tools: ToolHarness, site: Site, tmp_path: Path
) -> None:
    (folder := tmp_path / "app").mkdir()
    (tools.root / "words.txt").write_text("green tea")
    visitor = Visitor(tools)
    async with gradio_app(folder) as port:
        there = f"http://gradio.example:{port}"
        site.pages["/"] = f"<h1>Ours</h1><iframe title=App src='{there}/' width=1200 height=700></iframe>"
        await visitor.open(site.url())
        await visitor.act(("wait", "", "Submit"))
        assert f"of {there}" in visitor.seen
        await visitor.act(("fill", 'textbox "Name"', "Ann"), ("upload", 'button "Click to upload', "words.txt"))
        await visitor.act(("wait", "", "9.0 B ⇣"))
        await visitor.act(("click", 'button "Submit"', ""), ("wait", "", "told"))
        assert 'textbox "Said"' in visitor.seen
        assert "Ann gave 9 letters" in visitor.seen
        assert json.loads((folder / "asked.json").read_text()) == ["Ann", "green tea"]
        *_, given_back = re.findall(r'link "9\.0 B ⇣" \[(\w+)\]', visitor.seen)
        came = await visitor.do(Step("download", given_back, "louder.txt"))
        assert "put at louder.txt" in came
    assert (tools.root / "louder.txt").read_text() == "GREEN TEA"
