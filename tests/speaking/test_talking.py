"""Answers that are spoken in the terminal: into a file, or sentence by sentence in a conversation that is talked."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from angelia.faces.words.spoken_sentences import SpokenSentences
from angelia.testing.model.server import ModelServer
from angelia.testing.model.speech_server import SpeechFailure
from angelia.testing.model.steps import How, Step, cut_after, say
from angelia.testing.model.voice_server import VoiceServer, hum
from tests.faces.angelia import CTRL_D, ESC, Terminal, serving
from tests.promise.lives import Place
from tests.promise.pipes import ends, is_alive
from tests.speaking.test_speak_tool import place_for

pytestmark = pytest.mark.anyio

FIVE = "It is **five**. Or six.\n\n```\ncode\n```\n\nMEDIA:a.txt\n"


def test_a_sentence_is_said_as_soon_as_the_next_one_has_begun() -> None:
    said = SpokenSentences()
    spoken = [said.write(letter) for letter in FIVE]
    assert [one for sentences in spoken for one in sentences] == ["It is five.", "Or six."]
    assert FIVE[: [bool(one) for one in spoken].index(True) + 1] == "It is **five**. Or s"
    assert said.end() == ("a line of code.",)
    assert said.write("Ja.") == ()
    assert said.end() == ("Ja.",)


def test_what_shows_no_language_is_in_the_one_that_was_heard() -> None:
    said = SpokenSentences()
    said.hear("Wie spät ist es, und wo bist du?")
    assert (said.write("3,5 km."), said.end()) == ((), ("3 Komma 5 Kilometer.",))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_however_it_comes_each_sentence_is_said_once(size: int) -> None:
    text = "# Heute\n\nDas kostet 3,50 €. Es ist z. B. teuer!\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n* eins\n* zwei\n"
    said, whole = SpokenSentences("de"), SpokenSentences("de")
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    spoken = [sentence for piece in pieces for sentence in said.write(piece)] + [*said.end()]
    assert spoken == [*whole.write(text), *whole.end()]


async def test_an_answer_is_printed_and_spoken_into_a_file(tmp_path: Path) -> None:
    async with VoiceServer() as voice, ModelServer([say("It is **five**.")]) as server:
        place = place_for(server, voice, tmp_path)
        life = await place.ask("--speak", str(tmp_path / "answer.ogg"), "What time is it?")
    assert (life.status, life.stdout) == (0, "It is **five**.\n")
    assert (tmp_path / "answer.ogg").read_bytes().startswith(b"OggS")
    assert [order.text for order in voice.orders] == ["It is five."]
    assert not (place.home / "outbox").exists()


async def test_an_answer_that_cannot_be_spoken_is_printed_and_ends_with_1(tmp_path: Path) -> None:
    async with VoiceServer(lambda _: SpeechFailure(500, "Broken.")) as voice, ModelServer([say("Five.")]) as server:
        place = place_for(server, voice, tmp_path)
        life = await place.ask("--speak", str(tmp_path / "answer.ogg"), "What time is it?")
    assert (life.status, life.stdout) == (1, "Five.\n")
    assert "This was not spoken" in life.stderr
    assert not (tmp_path / "answer.ogg").exists()


async def test_killed_while_it_is_spoken_the_answer_is_printed_and_of_money_is_told_where_it_is_paid(
    tmp_path: Path,
) -> None:
    for name, paid in (("vendor", True), ("command", False)):
        async with VoiceServer() as voice, ModelServer([say("It is **five**.")]) as server:
            place = place_for(server, voice, tmp_path / name)
            if paid:
                place.sets = ("speaker=openai:tts-1", f'vendors.openai.base_url="{voice.base_url}"')
                place.sets = (*place.sets, "vendors.openai.base_url_env=[]")
            else:
                place.sets = ("speaker=command:cat",)
            place.wire = "anthropic"
            await place.ask("--speak", str(tmp_path / f"{name}.ogg"), "What time is it?", at="speech.asked:1")
            life = await place.ask("--resume", await place.conversation())
        assert (life.status, life.stdout) == (0, "It is **five**.\n"), life.stderr
        assert "This was not spoken: Angelia was interrupted while it was spoken." in life.stderr
        assert ("paid for" in life.stderr) is paid
        assert voice.orders == []


async def test_nothing_is_asked_where_it_could_not_be_spoken_or_written(tmp_path: Path) -> None:
    there = tmp_path / "there.ogg"
    there.write_text("mine")
    async with VoiceServer() as voice, ModelServer([]) as server:
        taken = await place_for(server, voice, tmp_path).ask("--speak", str(there), "What time is it?")
        mute = await Place(tmp_path / "mute", server).ask("--speak", str(tmp_path / "new.ogg"), "What time is it?")
    assert (taken.status, mute.status) == (2, 1)
    assert "exists already; nothing was asked" in taken.stderr
    assert "Nothing is set that speaks; nothing was asked" in mute.stderr
    assert there.read_text() == "mine"


RECORDER = """#!/bin/sh
echo $$ > "$NUMBER"
trap 'exit 0' INT
while :; do cat "$SAMPLE" || exit 1; sleep 0.02; done
"""
"""A microphone that hears the same thing again and again, until it is told to stop or nobody listens."""

PLAYER = """#!/bin/sh
for path; do :; done
tail -c +5 "$path" >> "$HEARD"
echo >> "$HEARD"
"""
"""A loudspeaker that writes down what it plays."""

SETTINGS = """
speaker = "command:printf RIFF; cat"
transcriber = "command:test -s {file} && echo What time is it?"
"""


@contextmanager
def talking(folder: Path, *steps: Step, settings: str = SETTINGS) -> Iterator[tuple[Terminal, Callable[[], list[str]]]]:
    """A terminal on a machine with microphone and loudspeaker, and what was heard of the latter."""
    programs, heard = folder / "programs", folder / "heard"
    for made in (programs, folder / "temporary"):
        made.mkdir()
    for name, script in (("arecord", RECORDER), ("pw-play", PLAYER)):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    (folder / "said.wav").write_bytes(hum("What time is it?"))
    more = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "SAMPLE": str(folder / "said.wav"),
        "NUMBER": str(folder / "number"),
        "HEARD": str(heard),
        "TMPDIR": str(folder / "temporary"),
    }
    with serving(folder, list(steps)) as place:
        place.home.mkdir(exist_ok=True)
        (place.home / "config.toml").write_text(settings)
        more |= {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": place.url}
        with place.chat(model="anthropic:test", **more) as terminal:  # a wire that carries no sound
            yield terminal, lambda: heard.read_text().split("\n")[:-1] if heard.exists() else []


def test_in_a_terminal_what_is_said_is_shown_and_the_answer_is_spoken(tmp_path: Path) -> None:
    with talking(tmp_path, say("It is **five**. Or six.")) as (terminal, heard):
        terminal.sees("/help")
        terminal.types("/talk")
        terminal.sees("listening: Enter sends what you say, Esc leaves")
        terminal.types("")
        terminal.sees("heard by a program of yours: What time is it?")
        terminal.sees("It is five. Or six.")
        terminal.sees("listening: Enter sends what you say, Esc leaves")
        assert heard() == ["It is five.", "Or six."]
        terminal.press(ESC)
        terminal.sees("no longer listening")
        terminal.press(CTRL_D)
        assert terminal.ends() == 0


def test_a_sentence_is_heard_while_the_next_is_written_and_esc_stops_both(tmp_path: Path) -> None:
    endless = cut_after(say("It is five. Or six, or sev"), 1000, how=How.SILENCE)
    with talking(tmp_path, endless) as (terminal, heard):
        terminal.sees("/help")
        terminal.types("/talk")
        terminal.sees("listening")
        terminal.types("")
        terminal.sees("heard by")
        terminal.until(lambda: heard() == ["It is five."])
        terminal.press(ESC)
        terminal.sees("listening: Enter sends")
        assert heard() == ["It is five."]
        terminal.press(CTRL_D)
        assert terminal.ends() == 0


PAID = """
speaker = "openai:tts-1"
transcriber = "command:test -s {{file}} && echo What time is it?"
[vendors.openai]
base_url = "{url}"
base_url_env = []
key_env = ["ANTHROPIC_API_KEY"]
"""


async def test_what_was_paid_for_a_sentence_is_booked_before_it_is_heard(tmp_path: Path) -> None:
    def killed_at_the_first_sound(url: str) -> None:
        endless = cut_after(say("It is five. Or six, or sev"), 1000, how=How.SILENCE)
        with talking(tmp_path, endless, settings=PAID.format(url=url)) as (terminal, _):
            terminal.sees("/help")
            terminal.types("/talk")
            terminal.sees("listening")
            terminal.types("")
            terminal.until((tmp_path / "heard").exists)
            terminal.kill()

    async with VoiceServer() as voice:
        await asyncio.to_thread(killed_at_the_first_sound, voice.base_url)
    with closing(sqlite3.connect(tmp_path / "home" / "angelia.db")) as db:
        rows = db.execute("SELECT cost FROM spending WHERE model = 'openai:tts-1'").fetchall()
    assert rows == [(len("It is five.") * 15,)]


def test_neither_microphone_nor_recording_is_left_by_who_was_killed(tmp_path: Path) -> None:
    with talking(tmp_path, say("Never.")) as (terminal, _):
        terminal.sees("/help")
        terminal.types("/talk")
        terminal.sees("listening")
        number = tmp_path / "number"
        terminal.until(lambda: number.exists() and bool(number.read_text().strip()))
        assert is_alive(int(number.read_text()))
        terminal.kill()
        ends(int(number.read_text()))
    assert not list((tmp_path / "temporary").rglob("*.wav"))


def test_without_a_microphone_it_is_said_what_was_looked_for(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Never.")]) as place:
        place.home.mkdir(exist_ok=True)
        (place.home / "config.toml").write_text(SETTINGS)
        with place.chat(PATH=str(tmp_path)) as terminal:
            terminal.sees("/help")
            terminal.types("/talk")
            terminal.sees("Nothing on this machine records sound. Looked for: arecord, parec, sox, ffmpeg.")
            terminal.press(CTRL_D)
            assert terminal.ends() == 0
