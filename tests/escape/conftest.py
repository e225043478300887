"""A person with a project, a guarded sandbox of it, and what the person's own programs do afterwards."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.registry import open_sandbox
from angelia.sandboxes.undo.store import UndoSettings, UndoStore
from tests.examples import some


class Person:
    """Somebody outside: a home, a project, Angelia's home, and a marker that no command inside can reach.

    The marker's path is a plain word, wherever `folder` lies: it goes through shells and settings without quotes.
    """

    def __init__(self, folder: Path, marker: Path) -> None:
        self.home, self.work, self.own = folder / "person", folder / "work", folder / "own"
        self.marker = marker
        self.heard: list[str] = []
        self.has_heard = asyncio.Event()
        for made in (self.home, self.work, self.own):
            made.mkdir()

    def hear(self, text: str) -> None:
        """What is shown to them while a command runs."""
        self.heard.append(text)
        self.has_heard.set()

    @property
    def env(self) -> dict[str, str]:
        """Git without anybody's settings but those in the folder."""
        who = {f"GIT_{role}_{what}": "me@x.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        plain = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
        return plain | who | {"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}

    def runs(self, line: str) -> str:
        """Run a line outside, in the project, as the person would; its output."""
        done = subprocess.run(
            ["/bin/bash", "-c", line], cwd=self.work, env=self.env, capture_output=True, timeout=120, check=False
        )
        return (done.stdout + done.stderr).decode(errors="replace")

    def uses_git_everywhere(self) -> str:
        """`git status` and more in every folder of the project, as a prompt does; whether the marker came to be."""
        return self.runs(
            "find . -type d -not -path '*/objects/*' -not -path '*/logs/*' -not -path '*/refs/*' | while read -r d; do"
            ' git -C "$d" status; git -C "$d" diff; done;'
            ' find . -name .git | while read -r g; do d=$(dirname "$g");'
            ' git -C "$d" rebase --continue; git -C "$d" cherry-pick --continue;'
            ' git -C "$d" add -A; git -C "$d" commit -qm x --allow-empty; git -C "$d" checkout -q -b "b$RANDOM"; done'
        )


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """Somebody with an empty project."""
    with TemporaryDirectory(prefix="angelia-marker-", dir="/tmp") as plain:
        someone = Person(tmp_path, Path(plain) / "marker")
        monkeypatch.setenv("HOME", str(someone.home))
        yield someone


Open = Callable[[], Sandbox]
SANDBOXES = ("watched", "guarded alone")


def in_both(ways: Iterable[str]) -> list[tuple[str, str]]:
    """Every way where commands are watched, and every fourth where they cannot be; `make soak` takes all in both."""
    watched, alone = SANDBOXES
    names = list(ways)
    return [(watched, name) for name in names] + [(alone, name) for name in some(names, 4)]


@pytest.fixture(params=SANDBOXES)
async def guarded(person: Person, request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """Opens the local sandbox of the project as every door does, and as where commands cannot be watched."""
    undo = UndoStore(person.own, UndoSettings(enabled=request.param == "watched"))
    made: list[Sandbox] = []

    def opened() -> Sandbox:
        place = SandboxContext("c", str(person.work), person.own, person.own / "run", person.hear, undo=undo)
        made.append(open_sandbox("local", place, {}))
        return made[-1]

    yield opened
    for sandbox in made:
        await sandbox.close()
