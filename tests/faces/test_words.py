"""How things are told: lines that fit, numbers at a glance, the live part of the screen, and what an answer means."""

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.context import window_usage
from angelia.context.usage_meter import UsageMeter
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import BlobRef, CallStatus, Media, MediaKind, Text, ToolCall
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId
from angelia.core.principal import OWNER
from angelia.engine.live import (
    Awaiting,
    CallComing,
    Committed,
    LiveEvent,
    Resting,
    Thinks,
    Working,
    WorkingShows,
    Writing,
)
from angelia.faces.cli import doctor
from angelia.faces.cli.chat.live_rows import live_rows
from angelia.faces.cli.chat.live_view import LiveView
from angelia.faces.cli.chat.prompt import PICKING
from angelia.faces.cli.checkup.check_result import CheckResult, CheckState
from angelia.faces.words.call_lines import call_in_words, result_in_words
from angelia.faces.words.paint import Paint
from angelia.faces.words.questions import meant, offered
from angelia.faces.words.reply_stream import ReplyStream
from angelia.faces.words.transcript_lines import Tone, TranscriptLine, TranscriptLines
from angelia.faces.words.widths import cells, table, wrapped
from angelia.testing.logs.strategies import logs


@given(st.text(max_size=200), st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, columns: int) -> None:
    lines = wrapped(text, columns)
    assert all(cells(line) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace("\t", "").replace("\n", "").replace(" ", "")


@given(
    st.lists(st.tuples(st.text("aé日 ", max_size=12), st.text("aé日 ", max_size=30)), min_size=1), st.integers(4, 60)
)
def test_table_rows_fit(rows: list[tuple[str, str]], columns: int) -> None:
    lines = table(rows, columns)
    assert all(cells(line) <= columns or " " not in line.strip() for line in lines), "only what is one word is wider"
    assert sorted("".join(lines).replace(" ", "")) == sorted("".join("".join(row) for row in rows).replace(" ", ""))


def test_the_last_cell_of_a_table_goes_on_in_its_column_as_long_as_there_is_room_for_it() -> None:
    row = ("hb6qtxp1", "2026-11-30 09:07", "a question of some length that goes on")
    assert table([row], 54) == [
        "hb6qtxp1  2026-11-30 09:07  a question of some length",
        "                            that goes on",
    ]
    assert table([row], 50)[0] == "hb6qtxp1  2026-11-30 09:07"


def test_what_doctor_says_is_broken_between_words_and_a_command_stays_whole() -> None:
    command = "uv tool install --force 'angelia[remote-browser] @ file:///home/ann/angelia-0.1.0-py3-none-any.whl'"
    absent = CheckResult("extra remote-browser", CheckState.ABSENT, "not there", command)
    well = CheckResult("store", CheckState.WELL, "in order, with all of its conversations and files")
    for columns in (50, 80):
        plain, rendered = (Paint(colour=False, columns=columns, renders=renders) for renders in (False, True))
        rows = doctor.shown(well, rendered).splitlines()
        assert all(cells(row) < columns and row[22] == " " != row[23] for row in rows)
        assert len(doctor.shown(well, plain).splitlines()) == 1, "what no person looks at is not broken"
        assert doctor.shown(absent, rendered).splitlines()[1].strip() == command
    assert "\x1b[33m" not in doctor.shown(absent, Paint(colour=True)), "yellow is not read on a light ground"


@given(st.text(max_size=120))
def test_no_control_character_of_a_model_reaches_the_screen(text: str) -> None:
    for tone in Tone:
        shown = Paint(colour=False, columns=80).line(TranscriptLine(tone, text))
        assert not {"\x1b", "\x07", "\x08", "\r", "\x9b"} & set(shown)


@given(logs())
def test_every_log_can_be_told_counted_and_watched(log: list[e.Entry]) -> None:
    transcript = TranscriptLines()
    now, usage_meter = LiveView(transcript, ReplyStream()), UsageMeter()
    for entry in log:
        lines = transcript.tell(entry)
        now.see(Committed((entry,)))
        usage_meter.add(entry)
        assert all(isinstance(line, TranscriptLine) for line in lines)
        for columns in (20, 90, 150):
            shown = live_rows(now, columns, 5)
            assert len(shown) <= 5
            assert all(sum(cells(text) for _, text in row) <= columns for row in shown)


def live(*events: LiveEvent) -> str:
    """What is shown after these events."""
    now = LiveView(TranscriptLines(), ReplyStream(), clock=iter_clock())
    for event in events:
        if isinstance(event, Writing):
            now.reply.add(event.text)
        now.see(event)
    return shown(now)


def shown(now: LiveView) -> str:
    """In rows of 60 columns."""
    return "\n".join("".join(text for _, text in row) for row in live_rows(now, 60, 10))


def iter_clock() -> Callable[[], float]:
    """A clock that goes on by two seconds whenever it is read."""
    ticks: Iterator[int] = iter(range(0, 1000, 2))
    return lambda: float(next(ticks))


def entry(fact: e.AnyFact) -> Committed:
    """A fact, committed."""
    return Committed((e.Entry(1, 0, fact),))


def test_words_take_the_place_of_thoughts() -> None:
    assert live(Thinks("hm")) == "hm"
    assert live(Thinks("hm"), Writing("Half an "), Writing("answer")) == "Half an answer"


def test_a_running_call_is_shown_with_its_time_and_its_last_line() -> None:
    call = CallId("c1_0")
    running = live(entry(e.ToolStarted(call)), Working(call, "first\nsecond\n"))
    assert "c1_0 · 2 s" in running
    assert running.endswith("  second")
    assert "waiting: too many" in live(Resting(5, "too many"))
    page = Media(BlobRef("ab" * 32, 3, "image/png"), MediaKind.IMAGE, "page.png", 40, 30)
    assert "  shows picture" in live(entry(e.ToolStarted(call)), WorkingShows(call, page))


def test_a_wait_names_its_end_and_how_to_stop() -> None:
    until = int(time.time() * 1000) + 15 * 60_000
    shown = live(Resting(until, "too many requests"))
    at = time.strftime("%H:%M:%S", time.localtime(until / 1000))
    assert f"waiting until {at} (15 min): too many requests; Esc stops" in " ".join(shown.split())


@pytest.mark.parametrize("word", [Writing("A"), Thinks("hm"), CallComing("shell")])
def test_a_request_without_a_word_says_since_when_until_the_first_one_comes(word: LiveEvent) -> None:
    silent = Awaiting("vendor:model", 1_700_000_000_000, 1_700_000_600_000)
    at, until = (time.strftime("%H:%M:%S", time.localtime(1_700_000_000 + later)) for later in (0, 600))
    assert f"waiting for vendor:model since {at}, until {until} at most; Esc stops" in " ".join(live(silent).split())
    assert "waiting" not in live(silent, word)
    assert "waiting" not in live(silent, entry(e.ModelFailed("m", Failure(FailureKind.UNREACHABLE))))


RESULTS = {
    "one line": (CallStatus.OK, "only this\n[exit status 0]", "only this"),
    "many lines": (CallStatus.OK, "a\nb\nc\n[exit status 0]", "3 lines"),
    "an error": (CallStatus.ERROR, "many\nwords\n[exit status 2]", "[exit status 2] words"),
    "a refusal": (CallStatus.REFUSED, "Not allowed: it is secret", "Not allowed: it is secret"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_told_in_short(name: str) -> None:
    status, text, told = RESULTS[name]
    assert result_in_words(e.ToolFinished(CallId("c"), status, (Text(text),))) == told


def test_a_call_with_broken_arguments_is_told_as_it_was_written() -> None:
    assert call_in_words(ToolCall(CallId("c"), "shell", '{"command": "l')) == 'shell {"command": "l'


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("browser_open", '{"url": "https://a.example/"}', "open https://a.example/ in the browser"),
        ("browser_open", '{"go": "back"}', "browser: back"),
        ("browser_look", '{"find": "price", "picture": true}', "find price on the page, with a picture"),
        ("browser_act", '{"steps": [{"do": "fill", "ref": "e1", "secret": "shop/word"}]}',
         "on the page: fill e1 with the secret shop/word"),
        ("browser_act", '{"steps": "no list"}', "on the page:"),
        ("browser_hand_over", '{"why": "Solve the CAPTCHA."}', "hand the page over: Solve the CAPTCHA."),
    ],
)  # fmt: skip
def test_what_is_done_in_the_browser_reads_as_a_person_would_say_it(tool: str, arguments: str, told: str) -> None:
    assert call_in_words(ToolCall(CallId("c"), tool, arguments)).strip() == told


def test_what_cannot_be_remembered_is_not_offered() -> None:
    asked = e.ApprovalAsked(CallId("c"), "Run `x`?", "d")
    assert [words for words, _ in offered(asked)] == ["yes, once", "no"]
    assert meant(asked, "2") == meant(asked, "No.")
    assert meant(asked, "3") != meant(asked, "2"), "a number that is not offered is a message"


@pytest.mark.parametrize("upto", range(1, len("Here it is.\n\nMEDIA:may.txt") + 1))
def test_the_line_that_names_a_file_is_not_shown_while_it_is_written(upto: int) -> None:
    reply = ReplyStream()
    said = "".join(block.text for block in (*reply.add("Here it is.\n\nMEDIA:may.txt"[:upto]), reply.rest))
    assert "MED" not in said
    assert said.strip() == "Here it is."[:upto].strip()


def test_that_a_turn_was_stopped_is_told_once_by_its_ending() -> None:
    stopped = e.ToolFinished(CallId("c1"), CallStatus.CANCELLED, (Text("Stopped before it was finished."),))
    facts: list[e.AnyFact] = [e.CancelAsked(OWNER), stopped, e.TurnClosed(end.Cancelled(OWNER)), stopped]
    lines = TranscriptLines()
    told = [[line.text for line in lines.tell(e.Entry(n, n, fact))] for n, fact in enumerate(facts, 1)]
    assert told == [
        [],
        ["c1 · cancelled"],
        ["Stopped. What was done so far is kept; write to go on."],
        ["c1 · cancelled · Stopped before it was finished."],  # by an end of ours, which nobody asked for
    ]


def test_what_a_window_holds_and_what_picks_from_a_list_fit_fifty_columns() -> None:
    filled = window_usage.rows({"prompt and tools": 40_410, "results": 2_010}, 128_000)
    assert len(table(filled, 50 - 2)) == len(filled), "a row each"
    assert cells(PICKING) <= 50
