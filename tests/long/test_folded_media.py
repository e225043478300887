"""Folds in windows of every size: the newest picture stays in sight, and every other one leaves a line."""

from itertools import product
from pathlib import Path

import pytest

from angelia.context.summary import SECTIONS
from angelia.context.view import project
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer, ServerLimits
from angelia.testing.model.steps import Step, call, say, server_error
from tests.context.long_logs import PROFILE, Story, ground, picture
from tests.context.test_compaction import media_in, moved, plan
from tests.long.home import home, moves, opened, turn
from tests.long.test_pictures import noise
from tests.long.test_summaries import is_summary

pytestmark = pytest.mark.anyio
GOOD = "\n".join(f"## {section}\nnone" for section in SECTIONS)
HOW = ("by summary", "by outline")
WIRES = ("openai-chat", "openai-responses", "anthropic")
WINDOWS = (8_000, 14_000, 30_000, 200_000)


@pytest.mark.soak(every=3)
@pytest.mark.parametrize(("summariser", "wire", "window"), list(product(HOW, WIRES, WINDOWS)))
async def test_after_a_fold_the_newest_picture_is_in_sight_and_each_older_one_is_a_line(
    tmp_path: Path, wire: str, window: int, summariser: str
) -> None:
    def answer(request: ReceivedRequest) -> Step:
        if is_summary(request):
            return say(GOOD) if summariser == "by summary" else server_error(500)
        return say("noted")

    async with (
        ModelServer(answer, limits=ServerLimits(window=window)) as server,
        home(tmp_path, server, wire, patience=60, window=window) as app,
    ):
        session = await opened(app, tmp_path)
        sent = [await app.intake.to_media(noise(number, 300), f"shot-{number}.png") for number in range(3)]
        for media in sent:
            await turn(session, Text("keep this"), media)
        while sum(bool(move.keep_from) for move in moves(session)) < 2:
            closed = await turn(session, Text("tell me more about it " * (window // 40)))
            assert closed.ending == end.Answered()
        asked = next(request for request in reversed(server.requests) if not is_summary(request))
        fold = [move for move in moves(session) if move.keep_from][-1]
        assert bool(fold.summariser) == (summariser == "by summary")
        said = [x.seq for x in session.log.entries if isinstance(x.fact, e.Opening) and sent[-1] in x.fact.parts]
        assert len(asked.images) == 1
        assert said == [seq for seq in fold.kept if seq in said]
        told = asked.raw.decode().replace("\\", "")
        for number, media in enumerate(sent[:-1]):
            [line] = [part for part in told.split("[") if f'look_again("{media.blob.sha256[:12]}")' in part]
            assert f"shot-{number}.png" in line
            assert "inbox/" in line


async def test_all_that_is_folded_away_is_listed_on_request(tmp_path: Path) -> None:
    steps = [say("seen"), say("seen"), call("look_again", {"id": ""}), say("these")]
    async with ModelServer(by_replies(steps)) as server, home(tmp_path, server) as app:
        session = await opened(app, tmp_path)
        for number in range(2):
            await turn(session, Text("see"), await app.intake.to_media(noise(number, 60), f"shot-{number}.png"))
        await turn(session, Text("which ones do you have?"))
        result = next(x.fact for x in reversed(session.log.entries) if isinstance(x.fact, e.ToolFinished))
        words = "".join(part.text for part in result.parts if isinstance(part, Text))
        assert [f"shot-{number}.png" in line for number, line in enumerate(words.splitlines())] == [True, True]


def test_a_picture_that_a_tool_showed_stays_with_its_call_through_a_fold() -> None:
    story = Story()
    asked = story.ask(story.say(Text("go")))
    story.answer("", asked, ("read", '{"path": "plots/a.png"}'), ("shell", '{"command": "ls"}'))
    story.result(asked, 0, picture(1))
    story.result(asked, 1, Text("a.png"))
    asked = story.ask()
    story.answer("", asked, ("read", '{"path": "plots/b.png"}'))
    story.result(asked, 0, picture(2))
    story.answer("two plots", story.ask())
    for number in range(40):
        story.turn(Text(f"{number} " + "word " * 2_000))
    running = story.say(Text("the running request"))
    move = plan(story.log, running, tokens=30_000)
    view = project(moved(story.log, move), PROFILE)
    assert move.keep_from > asked
    assert [media.name for media in media_in(view)] == ["shot-2.png"]
    [line] = [one.line for one in move.folded]
    assert "plots/a.png" in line


def test_an_album_that_no_window_holds_is_told_by_lines_rather_than_ending_the_conversation() -> None:
    story = Story()
    story.turn(*(picture(number) for number in range(80)))
    story.turn(Text("word " * 6_000))
    running = story.say(Text("the running request"))
    base = ground(story.log, running=running, tokens=4_000)
    move = plan(story.log, running, tokens=4_000)
    assert len(move.folded) == 80
    view = project(moved(story.log, move), PROFILE)
    told = "".join(part.text for message in view.messages for part in message.parts if isinstance(part, Text))
    assert "older ones are not listed here" in told
    assert media_in(view) == []
    assert base.allowed.tokens == 4_000
