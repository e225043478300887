"""Killed at every point of opening, acting and handing over: nothing runs on, and what is resumed tells the truth."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.ending import Answered
from angelia.engine.calls import calls_of
from angelia.service.chats.open_channel import wait
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.browsers.site import Site
from tests.promise.lives import Place
from tests.promise.story import APPROVING

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

SETS = ('policy.allow_ranges=["127.0.0.0/8"]', "sandbox.network=on", "policy.mode=ask")
SHOP = "<button onclick='fetch(`/ordered`, { method: `POST` })'>Order</button>"
ANSWER = "It is ordered."
CALLS = ("browser_open", "browser_act", "browser_hand_over")
ONCE = CALLS[:2]
"""What may have been done, and is not done again; a question is put again."""
POINTS = (
    *("browser.before_start", "browser.started", "browser.reached", "page.before_open", "page.opened"),
    *("page.before_act", "page.acted", "page.before_handing_over", "page.pictured", "page.handed_back"),
)


class Left(Struct, frozen=True):
    """What a killed life left, and how it was gone on with."""

    log: list[e.Entry]
    resumed: list[e.Entry]
    said: str
    orders: int
    visits: int


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder of a test's own for temporary files, which its browser's command line names. Where we are root, that is
    begun as somebody else, who comes through no folder of pytest's.
    """
    with TemporaryDirectory(prefix="angelia-killed-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def placed(folder: Path, temporary: Path, server: ModelServer) -> Place:
    """A place whose temporary files lie there."""
    place = Place(folder, server, sets=SETS)
    place.env["TMPDIR"] = str(temporary)
    return place


def shop(site: Site) -> ModelServer:
    """Something is ordered there, and the person is shown that it was."""
    site.clear()
    site.pages |= {"/": SHOP, "/ordered": "yes"}
    return ModelServer(
        by_replies(
            [
                call(CALLS[0], {"url": site.url(host="127.0.0.1")}, wire_id="call_1"),
                call(CALLS[1], {"steps": [{"do": "click", "ref": "e1"}]}, wire_id="call_2"),
                call(CALLS[2], {"why": "Look whether it is ordered."}, wire_id="call_3"),
                say(ANSWER),
            ]
        )
    )


def running(folder: Path) -> list[int]:
    """The processes whose command line names this folder: a browser's first two, with which all of it ends."""
    found = []
    for told in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in told.read_bytes():
                found.append(int(told.parent.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


async def gone(folder: Path) -> None:
    """Wait until nothing of its browser runs any more.

    Raises:
        TimeoutError: something goes on.
    """
    async with asyncio.timeout(20):
        while running(folder):
            await wait(None, 0.01)


async def killed(folder: Path, temporary: Path, site: Site, point: str) -> Left:
    """Live up to there, and go on."""
    async with shop(site) as server:
        place = placed(folder, temporary, server)
        await place.ask("Order it.", at=point, entry=APPROVING)
        await gone(temporary)
        log = await place.entries()
        again = await place.ask(*(["--continue"] if log else ["Order it."]), entry=APPROVING)
        await gone(temporary)
        assert not await place.problems()
        assert (again.status, again.stdout) == (0, f"{ANSWER}\n"), again.stderr
        orders, visits = (sum(line.startswith(one) for line in site.asked) for one in ("POST /ordered ", "GET / "))
        return Left(log, await place.entries(), server.requests[-1].raw.decode(), orders, visits)


def broken(left: Left) -> list[str]:
    """What does not hold, a sentence each."""
    said = []
    replies = [entry.fact for entry in left.resumed if isinstance(entry.fact, e.ModelSaid)]
    names = {one.id: one.name for reply in replies for one in calls_of(reply)}
    begun = {one.fact.call for one in left.log if isinstance(one.fact, e.ToolStarted) and names[one.fact.call] in ONCE}
    ended = {entry.fact.call for entry in left.log if isinstance(entry.fact, e.ToolFinished)}
    results = {one.fact.call: one.fact.status for one in left.resumed if isinstance(one.fact, e.ToolFinished)}
    if left.resumed[: len(left.log)] != left.log:
        said.append("the log does not go on where the dead life left it")
    if sorted(names[one] for one in results) != sorted(CALLS):
        said.append(f"these calls have results: {results}")
    said += [
        f"{names[one]} was cut, and is told as {results[one]}"
        for one in begun - ended
        if results[one] is not CallStatus.UNKNOWN
    ]
    said += [f"{names[one]} is told as unknown" for one in results.keys() - begun if results[one] is CallStatus.UNKNOWN]
    status = {names[one]: told for one, told in results.items()}
    if left.orders > 1 or left.visits > 1 or (status[CALLS[1]] is CallStatus.OK and left.orders != 1):
        said.append(f"{left.orders} orders at {left.visits} visits, and ordering is told as {status[CALLS[1]]}")
    if [one.fact.ending for one in left.resumed if isinstance(one.fact, e.TurnClosed)] != [Answered()]:
        said.append("the turn is not closed once")
    return said


async def test_a_whole_life_passes_these_points_and_no_others(site: Site, tmp_path: Path, temporary: Path) -> None:
    async with shop(site) as server:
        whole = await placed(tmp_path, temporary, server).ask("Order it.", entry=APPROVING)
    assert (whole.status, whole.stdout) == (0, f"{ANSWER}\n"), whole.stderr
    assert [point for point in whole.passed if point.startswith(("browser.", "page."))] == [
        f"{one}:1" for one in POINTS
    ]


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("point", POINTS)
async def test_killed_there_nothing_runs_on_and_what_is_resumed_tells_the_truth(
    site: Site, tmp_path: Path, temporary: Path, point: str
) -> None:
    assert not broken(await killed(tmp_path, temporary, site, f"{point}:1"))
