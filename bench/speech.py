"""Spoken answers by a voice of this machine: the first sentence, eight seconds of speech, and encoding."""

import asyncio
import os
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from angelia.models.speakers.local import piper_voices
from angelia.service.app import App
from angelia.service.models.speech import VoiceNote
from angelia.service.settings.config import load
from angelia.testing.model.voice_server import hum
from bench.rows import Row, Target, row
from bench.runs import Benchmark

FIRST = "The meeting is on Monday morning."
EIGHT = (
    f"{FIRST} We need milk, bread and apples for it. The train is one hour late, as it always is on Mondays, "
    "so begin without me."
)
"""Some eight seconds of speech."""

_ENCODED_S = 60


def rows(bench: Benchmark) -> Iterator[Row]:
    """With the first voice of Piper's that is here."""
    home = bench.place("speech")
    if find_spec("piper") is None or not piper_voices(home / "voices"):
        yield Row("local voice", "s", note="not here: the extra `speech`, and a voice for Piper")
        return
    yield from asyncio.run(_measured(home, bench.times))


async def _measured(home: Path, runs: int) -> list[Row]:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    app = await App.open(load(home, env, ("speaker=local",)), env)
    first: list[float] = []
    whole: list[float] = []
    spoken: list[float] = []
    encoded: list[float] = []
    try:
        cold = await _seconds_to_first(app)
        for _ in range(runs):
            first.append(await _seconds_to_first(app))
            began = time.monotonic()
            note = await app.speech.speak_answer(EIGHT)
            whole.append(time.monotonic() - began)
            assert isinstance(note, VoiceNote), note.why
            spoken.append(note.media.seconds)
        sound = hum("x" * _ENCODED_S * 15)
        for _ in range(runs):
            began = time.monotonic()
            await app.speech.as_note(sound)
            encoded.append(_ENCODED_S / (time.monotonic() - began))
    finally:
        await app.close()
    return [
        row("local voice: first sentence, with loading it", "s", cold),
        row("local voice: first sentence, loaded", "s", first, 1.0),
        row(f"local voice: {sum(spoken) / runs:.1f} s of speech as a voice note", "s", whole, 4.0),
        Row("voice note: encoded, times real time", "x", tuple(encoded), target=Target(least=40)),
    ]


async def _seconds_to_first(app: App) -> float:
    began = time.monotonic()
    await app.speech.aloud(FIRST, language="en")
    return time.monotonic() - began
