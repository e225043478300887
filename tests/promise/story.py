"""One story that passes every kind of crash point, and what must hold of it however often it was killed."""

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import CallStatus, Media
from angelia.core.ending import Answered
from angelia.testing.crash import Run
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.media_forks import FORKED
from tests.promise.lives import CHAT, Place

ANSWER = "All done: the counter moved and the report is sent."
PICTURE = one_colour("orange")
REPORT = "forty-two\n"
FILES = {"report.txt": REPORT, "notes.txt": "how it was counted\n"}
"""What the person gets: the first by a call, the second by a line of the answer."""
APPROVING = "tests.promise.doors:approving"
"""The command line with somebody at hand who says yes; says ACKNOWLEDGED once a message is stored."""
ACKNOWLEDGED = "acknowledged"
MARK = re.compile(rb',"cache_control":\{"type":"ephemeral"\}')

SCRIPT = by_replies(
    [
        say("I move the counter.") + call("shell", {"command": "echo x >> counter"}, wire_id="call_1"),
        call("read", {"path": "report.txt"}, wire_id="call_2"),
        call("send_file", {"path": "report.txt"}, wire_id="call_3"),
        say(f"{ANSWER}\nMEDIA:notes.txt"),
    ]
)


class Lived(Struct, frozen=True):
    """Two lives: the one that was killed, the log it left, and the one that went on."""

    killed_at: str
    first: Run
    left: list[e.Entry]
    second: Run
    log: list[e.Entry]
    requests: list[ReceivedRequest]
    problems: list[str]


def furnished(folder: Path, server: ModelServer, wire: str = CHAT, elsewhere: Mapping[str, str] | None = None) -> Place:
    """A place with what the story needs in the workspace and beside it; every command asks there."""
    place = Place(folder, server, wire=wire, sets=("sandbox.confine=off", "policy.mode=ask"), elsewhere=elsewhere)
    for name, text in FILES.items():
        (place.workspace / name).write_text(text)
    (place.folder / "picture.png").write_bytes(PICTURE)
    return place


def question(place: Place) -> list[str]:
    """How the story begins."""
    return ["Move the counter and send me the report.", "--image", str(place.folder / "picture.png")]


async def lived(
    folder: Path,
    point: str,
    entry: str = APPROVING,
    wire: str = CHAT,
    elsewhere: Mapping[str, str] | None = None,
) -> Lived:
    """Live the story, be killed at `point`, and go on; say it again if it was never stored."""
    async with ModelServer(SCRIPT) as server:
        place = furnished(folder, server, wire, elsewhere)
        place.env |= FORKED
        first = await place.ask(*question(place), at=point, entry=entry)
        left = await place.entries()
        second = await place.ask("--continue", entry=entry) if left else await place.ask(*question(place), entry=entry)
        return Lived(point, first, left, second, await place.entries(), server.requests, await place.problems())


def broken(story: Lived, place: Path) -> list[str]:
    """Every way in which the promise does not hold, a sentence each."""
    facts = [entry.fact for entry in story.log]
    return [
        *story.problems,
        *_about_message(story),
        *_about_requests(story),
        *_about_effects(facts, place),
        *_about_ending(story, facts),
    ]


def _about_message(story: Lived) -> list[str]:
    said = []
    if ACKNOWLEDGED in story.first.stderr and not story.left:
        said.append("a message was acknowledged and is lost")
    if story.log[: len(story.left)] != story.left:
        said.append("the log does not go on where the dead life left it")
    return said


def _about_requests(story: Lived) -> list[str]:
    blind = [one.number for one in story.requests if [medium.data for medium in one.heard.media] != [PICTURE]]
    said = [f"request {number} does not carry the picture as it was given" for number in blind]
    return said + unextended(story.requests)


def unextended(requests: list[ReceivedRequest]) -> list[str]:
    """The requests that do not extend the one before byte for byte, cache marks aside."""
    growing = [MARK.sub(b"", request.raw).removesuffix(b"]}") for request in requests]
    pairs = enumerate(pairwise(growing), 1)
    return [f"request {at + 1} does not extend request {at}" for at, (old, new) in pairs if not new.startswith(old)]


def _about_effects(facts: list[e.AnyFact], place: Path) -> list[str]:
    said = []
    counter = place / "workspace" / "counter"
    ran = len(counter.read_text().splitlines()) if counter.exists() else 0
    results = [fact for fact in facts if isinstance(fact, e.ToolFinished)]
    if len(results) != 4 or len({fact.call for fact in results}) != 4:
        said.append(f"four calls have {len(results)} results")
    if ran > 1 or (results and results[0].status is CallStatus.OK and ran != 1):
        said.append(f"the counter was moved {ran} times, and its call is told as {results[0].status}")
    if results and results[0].status not in (CallStatus.OK, CallStatus.UNKNOWN):
        said.append(f"the counter's call is told as {results[0].status}")
    queued = [part.name for fact in facts if isinstance(fact, e.DeliveryQueued) for part in _media(fact)]
    said += [f"{name} was queued {queued.count(name)} times" for name in FILES if queued.count(name) != 1]
    copies = {copy.name: copy.read_text() for copy in (place / "home" / "outbox").glob("*")}
    if copies != FILES:
        said.append(f"the person's folder holds {sorted(copies)}")
    return said


def _media(queued: e.DeliveryQueued) -> list[Media]:
    return [part for part in queued.parts if isinstance(part, Media)]


def _about_ending(story: Lived, facts: list[e.AnyFact]) -> list[str]:
    said = []
    closed = [fact.ending for fact in facts if isinstance(fact, e.TurnClosed)]
    if closed != [Answered()]:
        said.append(f"the turn was closed with {closed}")
    answers = [fact.id for fact in facts if isinstance(fact, e.DeliveryQueued) and fact.origin == "answer"]
    settled = [fact.id for fact in facts if isinstance(fact, e.DeliverySettled)]
    if len(answers) != 1 or settled.count(answers[0]) != 1:
        said.append(f"{len(answers)} answers were queued, {settled} were settled")
    shown = [life.stdout.count(ANSWER) for life in (story.first, story.second)]
    if sum(shown) == 0:
        said.append("the answer was never shown")
    if any("MEDIA:" in life.stdout for life in (story.first, story.second)):
        said.append("the line of a file that was sent is shown")
    unsettled = not any(isinstance(entry.fact, e.DeliverySettled) and entry.fact.id in answers for entry in story.left)
    if max(shown) > 1 or (sum(shown) == 2 and not unsettled):
        said.append(f"the answer was shown {shown} times")
    if story.second.status != 0 and not (sum(shown) and not unsettled):
        said.append(f"the second life ended with {story.second.status}: {story.second.stderr}")
    return said
