"""The crash test: the command line is killed at each of its crash points, and the disk is full, on this file system.

Each life has a home of its own, and a scripted model. At each point one life is killed, and with another the power is
lost. After each death the home is opened and looked at; then the same is gone on with. `power` is what a loss of power
does to a home between the two. Tests give one of a disk that loses what was synced.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product, zip_longest
from pathlib import Path

from msgspec import Struct

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.errors import AngeliaError
from angelia.core.principal import OWNER
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from angelia.store.sql.upkeep import verify
from angelia.testing import crash
from angelia.testing.certificates.certificate import TriedClaim
from angelia.testing.certificates.power_loss import lose_power
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say

KEPT = "what was acknowledged is there after a death"
WHOLE = "the store is whole after a death"
ANSWERED = "what was acknowledged is answered, or its ending told, by the next life"
ONCE = "no effect is begun twice"
FULL = "a full disk is told, and nothing that was acknowledged is lost by it"
_ACKNOWLEDGED = "say.committed"
_FULL_BLOCKS = 64
"""Blocks of 512 bytes that a life on a full disk may write into one file; the store does not begin in so few."""

Power = Callable[[Path], None]
Told = Callable[[str], None]


class TrialHome(Struct, frozen=True):
    """A person's folder with a home and a workspace, whose model is the scripted server."""

    folder: Path
    url: str

    @property
    def home(self) -> Path:
        """Angelia's home in it."""
        return self.folder / "home"

    def environment(self) -> dict[str, str]:
        """What its processes know."""
        for made in (self.folder / "person", self.folder / "work"):
            made.mkdir(parents=True, exist_ok=True)
        own = {"HOME": str(self.folder / "person"), "ANGELIA_HOME": str(self.home)}
        model = {"OPENAI_API_KEY": "scripted", "OPENAI_BASE_URL": self.url}
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
        return {**kept, **own, **model}

    def ask(self, *words: str) -> list[str]:
        """A question of it; nobody confines its commands, which are ours."""
        model = ("--model", "openai-chat:m", "-C", str(self.folder / "work"))
        return ["ask", *model, "--set", "policy.mode=autonomous", "--set", "sandbox.confine=off", *words]

    async def entries(self) -> tuple[list[e.Entry], list[str]]:
        """The log of its one conversation, and what is wrong with its home."""
        if not (self.home / "angelia.db").exists():
            return [], []
        try:
            db = Database.open(self.home)
        except AngeliaError as error:
            return [], [str(error)]
        try:
            problems = await verify(db, BlobStore(self.home))
            transcript = Transcript(db)
            found = await transcript.conversations(OWNER, 1)
            return (await transcript.legible(found[0].id))[0] if found else [], problems
        finally:
            db.close()


def answers(request: ReceivedRequest) -> Step:
    """One command that has an effect, then the answer."""
    return say("Done.") if request.heard.replies else call("shell", {"command": "echo done >> effects.txt"})


def nothing(home: Path) -> None:
    """A kill takes nothing that was written."""


async def crash_test(
    folder: Path, seconds: float, told: Told, power: Power = lose_power, most: int = 0
) -> list[TriedClaim]:
    """Try it in `folder`, for so many seconds, with `most` deaths if that is not 0; `told` hears of each."""
    until = time.monotonic() + seconds
    broken: dict[str, list[str]] = {claim: [] for claim in (KEPT, WHOLE, ANSWERED, ONCE)}
    tried = 0
    async with ModelServer(answers) as server:
        whole = TrialHome(folder / "whole", server.base_url)
        points = await crash.occurrences(whole.ask("Do it."), whole.environment())
        deaths = product(_spread(points), ((", the power lost", power), ("", nothing)))
        for number, (point, (how, taken)) in enumerate(deaths):
            if time.monotonic() > until or (most and tried == most):
                break
            tried += 1
            life = TrialHome(folder / f"life-{number}", server.base_url)
            found = await _killed(life, point, taken)
            for claim, why in found.items():
                broken[claim].append(f"{point}{how}: {why}")
            told(f"killed at {point}{how}: {'; '.join(found.values()) or 'held'}")
        full = await _full_disk(TrialHome(folder / "full", server.base_url))
    told(f"a full disk: {'; '.join(full) or 'held'}")
    held = [TriedClaim(claim, tried, tuple(why)) for claim, why in broken.items()]
    return [*held, TriedClaim(FULL, 1, tuple(full))]


def _spread(points: list[str]) -> Iterator[str]:
    """Those after something was acknowledged and those before, by turns, so that a short test sees both."""
    first = next((at for at, point in enumerate(points) if point.startswith(f"{_ACKNOWLEDGED}:")), len(points))
    for pair in zip_longest(points[first:], points[:first]):
        yield from (point for point in pair if point)


async def _killed(life: TrialHome, point: str, power: Power) -> dict[str, str]:
    """Die at a point, look, and go on; what was broken."""
    ended = await crash.run_killed_at(point, life.ask("Do it."), life.environment())
    if life.home.exists():
        power(life.home)
    entries, problems = await life.entries()
    found = {WHOLE: problems[0]} if problems else {}
    said = any(isinstance(entry.fact, e.UserSaid) for entry in entries)
    if any(passed.startswith(f"{_ACKNOWLEDGED}:") for passed in ended.passed) and not said:
        return {**found, KEPT: "the message is gone"}
    again = await crash.run(life.ask("--continue") if said else life.ask("Do it."), life.environment())
    entries, problems = await life.entries()
    closed = [entry.fact for entry in entries if isinstance(entry.fact, e.TurnClosed)]
    if not any(isinstance(fact.ending, end.Answered) for fact in closed):
        found[ANSWERED] = f"the next life ended with {again.status}: {again.stderr.strip()[-200:]}"
    if problems:
        found[WHOLE] = problems[0]
    effects = life.folder / "work" / "effects.txt"
    if effects.exists() and (times := len(effects.read_text().splitlines())) > 1:
        found[ONCE] = f"the command ran {times} times"
    return found


async def _full_disk(life: TrialHome) -> list[str]:
    """A life that may write nearly nothing says so; the next one, which may, works."""
    words = [sys.executable, "-P", "-m", "angelia", *life.ask("Do it.")]
    limited = ["sh", "-c", f'ulimit -f {_FULL_BLOCKS}; exec "$@"', "sh", *words]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*limited, env=life.environment(), stdout=pipe, stderr=pipe)
    _, said = await process.communicate()
    found = [] if process.returncode and said.strip() else [f"it ended with {process.returncode} and said nothing"]
    again = await crash.run(life.ask("Do it."), life.environment())
    _, problems = await life.entries()
    if again.status or problems:
        found.append(f"afterwards it ended with {again.status}: {(problems or [again.stderr.strip()[-200:]])[0]}")
    return found
