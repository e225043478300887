"""A process of ours that works in several sandboxes at once, and is killed wherever it happens to be.

Its words are FOLDER SOCKET LIFE KILL_AT.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from threading import Lock

from angelia.core.content import Text
from angelia.core.crash import on_crash_point
from angelia.core.entry import Address
from angelia.policy.approvers import owner_at
from angelia.service.app import App
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from angelia.testing.model.answerers import Answerer
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.steps import Step, call, calls, say
from tests.promise import doors

from .daemon import IMAGE

KINDS = ("confined", "confined", "outside", "outside", "docker")
SLEEP = f"97531.{os.getpid()}"
"""Seconds that nobody sleeps but what these conversations leave behind; another run of this may have been killed."""
TREE = f"(setsid sleep {SLEEP} >/dev/null 2>&1 &); (env -i sleep {SLEEP} &); seq 1 200000 >made; sha256sum made"
MODEL = "openai-chat:m"


def settings(socket: str) -> tuple[str, ...]:
    """A container that nobody uses goes at once."""
    return ("sandbox.docker.idle_minutes=0", f"sandbox.docker.socket={socket}")


def model() -> Answerer:
    """What each conversation does; its kind is what the person says."""

    def answer(request: ReceivedRequest) -> Step:
        reach = {} if request.heard.last_words == "docker" else {"reach": request.heard.last_words}
        steps = [
            call("shell", {"command": TREE, **reach}),
            call("shell", {"command": f"sleep {SLEEP}", "background": True, **reach}),
            calls(("write", {"path": "note.txt", "content": "written\n" * 1000}), ("send_file", {"path": "made"})),
            call("shell", {"command": "seq 1 300000 | sort | tail -n 1", **reach}),
            say("Done."),
        ]
        return steps[min(request.heard.replies, len(steps) - 1)]

    return answer


class Killer:
    """Kills this process at the crash point of that number, on whatever thread it is passed."""

    def __init__(self, at: int) -> None:
        self._left, self._lock = at, Lock()

    def __call__(self, _: str) -> None:
        """One was passed."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


async def live(folder: Path, socket: str, life: str) -> None:
    """One conversation of each kind, side by side, in one home."""
    loaded = load(folder / "home", os.environ, settings(socket), {"model": MODEL})
    app = await App.open(loaded, os.environ)
    await asyncio.gather(*(_converse(app, folder / f"work/{life}-{n}", kind) for n, kind in enumerate(KINDS)))


async def _converse(app: App, workspace: Path, kind: str) -> None:
    workspace.mkdir(parents=True)
    where = f"docker:{IMAGE}" if kind == "docker" else "local"
    session = app.conversations.begin(door="terminal", workspace=workspace, sandbox=where)
    await app.conversations.employ(session, MODEL, approvers=owner_at(Address("terminal")))
    await session.say([Text(kind)], address=TERMINAL)
    await session.settled()


def main() -> None:
    """Live, and be killed: at the latest when all is done, with everything still open."""
    folder, socket, life, kill_at = sys.argv[1:]
    doors._say_yes()
    on_crash_point(Killer(int(kill_at)))
    asyncio.run(live(Path(folder), socket, life))
    os.kill(os.getpid(), signal.SIGKILL)
