"""A whole turn with a browser: opened, seen, refused where nobody can say yes, and ended with the conversation."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.browsers.site import Site

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]


async def test_a_page_is_opened_and_its_picture_reaches_the_model(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = "<h1>Prices</h1><p>Tea: 4 euro</p><button>Order</button>"
    script = [
        call("browser_open", {"url": site.url(host="127.0.0.1")}),
        call("browser_look", {"picture": True}),
        call("browser_act", {"steps": [{"do": "click", "ref": "e1"}]}),
        say("Tea is 4 euro."),
    ]
    (workspace := tmp_path / "w").mkdir()
    async with ModelServer(script) as server:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "ANGELIA_HOME": str(tmp_path / "home"),
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": server.base_url,
        }
        settings = ('policy.allow_ranges=["127.0.0.0/8"]', "sandbox.network=on")
        given = [word for one in settings for word in ("--set", one)]
        words = ["ask", "--model", "openai:gpt-5", *given, "What is tea?"]
        run = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "angelia", *words, cwd=workspace, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        answer, said = await run.communicate()
    assert answer == b"Tea is 4 euro.\n", said.decode()
    opened, seen, acted = (request.raw.decode() for request in server.requests[1:4])
    assert "Tea: 4 euro" in opened
    assert "data:image/webp;base64," in seen
    assert "needs a yes, and nobody is here" in acted
    assert site.asked[0].startswith("GET / ")
