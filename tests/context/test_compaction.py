"""Compaction is cheap, keeps what matters, never tears a pair, and always gets there."""

import pytest
from bench.views import lived
from hypothesis import example, given, settings
from hypothesis import strategies as st

from angelia.context import compaction
from angelia.context.budget import exceeds
from angelia.context.media_aging import aged_media
from angelia.context.request import Result, Role, Shown
from angelia.context.view import View, project
from angelia.core import codec
from angelia.core import entry as e
from angelia.core.content import BlobRef, Media, MediaKind, Text, ToolCall
from angelia.core.ending import Answered
from tests.context.long_logs import MB, PROFILE, Story, awkward, ground, picture
from tests.examples import examples


def moved(log: list[e.Entry], move: e.ViewMoved) -> list[e.Entry]:
    """The log with a move, and a request after it."""
    seq = len(log) + 1
    unheard = tuple(x.seq for x in log if isinstance(x.fact, e.UserSaid))
    return [*log, e.Entry(seq, 0, move), e.Entry(seq + 1, 0, e.ModelAsked("v:m", 1, unheard[-1:]))]


def plan(log: list[e.Entry], running: int, tokens: int = 150_000) -> e.ViewMoved:
    """The whole plan without a summariser."""
    base = ground(log, running=running, tokens=tokens)
    move = compaction.light(base)
    if not compaction.suffices(base, move) and (cut := compaction.fold_at(base, move)):
        fold = compaction.outlined(base, move, cut)
        move = min(move, fold, key=lambda one: compaction.size_under(base, one).tokens)
    return compaction.pressed(base, move)


def media_in(view: View) -> list[Media]:
    """The media that the next request carries as media."""
    parts = [p for m in view.messages for p in m.parts]
    inner = [p for part in parts if isinstance(part, Result) for p in part.parts]
    return [p.media for p in (*parts, *inner) if isinstance(p, Shown)]


def small(number: int) -> Media:
    """A picture of 1.6 MB that goes out as it is: 2.1 MB of base64."""
    return Media(BlobRef(f"{number:064x}", 1_600_000, "image/png"), MediaKind.IMAGE, "s.png", 1200, 900)


def test_the_newest_picture_of_each_side_stays_and_every_other_becomes_a_line() -> None:
    story = Story()
    for number in range(5):
        story.turn(Text("see"), picture(number))
    said = story.say(Text("look"))
    asked = story.ask(said)
    story.answer("", asked, ("shot", "{}"))
    story.result(asked, 0, picture(100))
    story.ask()
    story.answer("", asked := len(story.log), ("shot", "{}"))
    story.result(asked, 0, picture(101))
    base = ground(story.log, running=said)
    view = project(moved(story.log, compaction.aged(story.log, compaction.last_move(story.log))), PROFILE)
    assert [m.name for m in media_in(view)] == ["shot-4.png", "shot-101.png"]
    lines = [p.text for m in view.messages for p in m.parts if isinstance(p, Text) and "look_again" in p.text]
    assert len(lines) == 4
    assert compaction.size_under(base, compaction.light(base)).bytes < 6 * MB


def test_words_of_ours_are_never_taken_for_the_newest_message_with_media() -> None:
    story = Story()
    story.turn(Text("see"), picture(1))
    story.add(e.SystemSaid("todo: look at the picture"))
    assert aged_media(story.log) == ()


def test_ageing_twice_changes_nothing_and_keeps_the_lines_of_the_first_time() -> None:
    story = Story()
    for number in range(4):
        story.turn(picture(number))
    once = compaction.aged(story.log, compaction.last_move(story.log))
    assert compaction.aged(story.log, once) == once
    story.turn(picture(9))
    twice = compaction.aged(story.log, once)
    assert twice.aged[: len(once.aged)] == once.aged
    assert len(twice.aged) == len(once.aged) + 1


def test_four_megabytes_with_two_pictures_drop_by_half_at_the_first_move() -> None:
    story = Story()
    story.turn(Text("first"), small(1))
    story.turn(Text("second"), small(2))
    running = story.say(Text("and now?"))
    base = ground(story.log, running=running)
    before = compaction.size_under(base, compaction.last_move(story.log))
    after = compaction.size_under(base, compaction.light(base))
    assert before.bytes > 4 * MB
    assert after.bytes * 2 <= before.bytes + 100_000


def test_old_results_keep_head_and_tail_and_the_way_to_the_whole() -> None:
    story = Story()
    asked = story.ask(story.say(Text("go")))
    for _ in range(10):
        story.answer("", asked, ("shell", "{}"))
        story.result(asked, 0, Text("begin " + "x" * 50_000 + " end"))
        asked = story.ask()
    short = compaction.shortened(story.log, compaction.last_move(story.log)).shortened
    assert len(short) == 6
    assert short[0].text.startswith("begin")
    assert "end" in short[0].text
    assert f'read("call:{short[0].call}")' in short[0].text


def test_a_file_that_was_read_again_is_shown_once() -> None:
    story = Story()
    asked = story.ask(story.say(Text("go")))
    for _ in range(3):
        story.answer("", asked, ("read", '{"path": "a.py"}'))
        story.result(asked, 0, Text("content"))
        asked = story.ask()
    short = compaction.shortened(story.log, compaction.last_move(story.log)).shortened
    assert len(short) == 2
    assert all("read again" in s.text for s in short)


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(st.integers(0, 2**32))
@example(24485151)  # its outline is longer than what it stands for
def test_every_plan_fits_keeps_the_request_and_tears_no_pair(seed: int) -> None:
    log, running = awkward(seed)
    base = ground(log, running=running)
    move = plan(log, running)
    before = compaction.size_under(base, compaction.last_move(log))
    after = compaction.size_under(base, move)
    assert not exceeds(after, base.allowed)
    assert after.tokens <= before.tokens
    view = project(moved(log, move), PROFILE)
    words = [p.text for m in view.messages for p in m.parts if isinstance(p, Text)]
    assert any(word.startswith("the running request") for word in words)
    for index, message in enumerate(view.messages):
        calls = [p.id for p in message.parts if isinstance(p, ToolCall)]
        if calls:
            assert [p.call for p in view.messages[index + 1].parts if isinstance(p, Result)] == calls
        if message.role is Role.TOOL:
            assert any(isinstance(p, ToolCall) for p in view.messages[index - 1].parts)


@settings(max_examples=examples(10))
@given(st.integers(0, 2**32))
def test_a_second_plan_over_a_grown_log_folds_further_and_never_unfolds(seed: int) -> None:
    log, running = awkward(seed)
    first = plan(log, running)
    story = Story()
    story.log = moved(log, first)
    story.answer("more " * 50_000, len(story.log))
    story.add(e.TurnClosed(Answered()))
    again = story.say(Text("next request"))
    second = plan(story.log, again)
    assert second.keep_from >= first.keep_from
    seen = compaction.in_sight(story.log, second)
    numbers = {entry.seq for entry in seen}
    results = {entry.fact.call for entry in seen if isinstance(entry.fact, e.ToolFinished)}
    still = tuple(one for one in first.aged if one.seq in numbers)
    assert second.aged[: len(still)] == still
    assert {s.call for s in first.shortened} & results <= {s.call for s in second.shortened} <= results
    assert {*(one.seq for one in second.aged), *(one.seq for one in second.reshown)} <= numbers


def test_a_move_says_no_more_of_a_long_log_than_of_a_short_one() -> None:
    """Else a log would grow with the square of its length: moves were nine tenths of one of 20,000 entries."""
    log = lived(3_000)
    sizes = [len(codec.encode(entry.fact)) for entry in log if isinstance(entry.fact, e.ViewMoved)]
    assert len(sizes) > 5
    assert max(sizes) < 3 * sizes[0]


def test_thousands_of_tiny_turns_fold_into_a_small_window() -> None:
    story = Story()
    for number in range(3_000):
        story.turn(Text(f"q{number}"), reply=f"a{number}")
    running = story.say(Text("the running request"))
    base = ground(story.log, running=running, tokens=6_000)
    move = plan(story.log, running, tokens=6_000)
    assert not exceeds(compaction.size_under(base, move), base.allowed)
    assert move.keep_from > 6_000


def test_images_alone_and_results_of_megabytes_fit() -> None:
    story = Story()
    asked = story.ask(story.say(*(picture(number) for number in range(12))))
    for number in range(6):
        story.answer("", asked, ("shot", f'{{"n": {number}}}'))
        story.result(asked, 0, picture(100 + number), Text("x" * 5_000_000))
        asked = story.ask()
    base = ground(story.log, running=2)
    assert not exceeds(compaction.size_under(base, plan(story.log, 2)), base.allowed)
