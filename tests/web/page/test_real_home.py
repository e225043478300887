"""The page of a real home: what is said at a terminal, answered here, and goes on after the server was killed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from angelia.testing.model.steps import call, say, slowly
from tests.faces.angelia import MODEL, Place, serving
from tests.ports import free_port
from tests.web.page.visits import leave, visit

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

PUSH = {"command": "echo pushed >> pushed.txt", "reach": "outside"}


@contextmanager
def web(place: Place, port: int) -> Iterator[str]:
    """`angelia web`; gives the link that it prints, and is killed at the end."""
    words = ["web", "--no-open", "--listen", f"127.0.0.1:{port}", "--set", f"model={MODEL}", "--set", "policy.mode=ask"]
    process = subprocess.Popen(
        [sys.executable, "-m", "angelia", *words],
        env=place.environment({"PYTHONPATH": os.pathsep.join(sys.path)}),
        cwd=place.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_first_minute_a_question_and_a_server_that_is_killed(chrome: Browser, tmp_path: Path) -> None:
    """A conversation begun at the terminal is on the page; its next question is asked and allowed there; the server is
    killed while it answers, and the page has the rest when there is a server again.
    """
    steps = [
        say("Good morning."),
        call("shell", PUSH),
        slowly(say("word " * 60 + "Pushed, **once**."), between=0.03),
    ]
    port = free_port()
    with serving(tmp_path, steps) as place:
        assert "Good morning." in place.ask("hello").out
        with web(place, port) as link:
            page = visit(chrome, link)
            page.get_by_role("link", name="hello").first.click()
            expect(page.locator(".log")).to_contain_text("Good morning.")
            page.locator("#pen").fill("Push it")
            page.keyboard.press("Enter")
            allow = page.get_by_role("button", name="Allow once")
            expect(allow).to_be_visible()
            assert "echo pushed" in page.locator(".ask").inner_text()
            allow.click(delay=600)  # it is deaf for half a second after it appears
            expect(page.locator(".growing")).to_contain_text("word word")
        expect(page.locator("body")).to_contain_text("No connection")
        with web(place, port):
            expect(page.locator(".log")).to_contain_text("Pushed, once.", timeout=40_000)
            expect(page.locator(".growing")).to_have_count(0)
            second = page.context.new_page()  # another tab, which needs no login of its own
            second.goto(page.url)
            expect(second.locator(".log")).to_contain_text("Pushed, once.")
            leave(page)
        assert (place.work / "pushed.txt").read_text() == "pushed\n"
        assert place.kinds().count("TurnClosed") == 2
