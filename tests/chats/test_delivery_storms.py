"""Deliveries by the thousand under weather: each answer is there once, and a repeat is marked; half had been drafts."""

from collections import Counter
from pathlib import Path

import pytest

from angelia.channels.markup.marks import DiscordMarkdown
from angelia.channels.markup.renderer import render
from angelia.service.chats.messages import AGAIN
from angelia.testing.channels.recording_channel import FarEnd
from tests.chats.storm import DRAFTING, SMALL, Sent, Storm, Weather
from tests.examples import TIMES

pytestmark = pytest.mark.anyio

CHATS, ANSWERS, BATCHES = 100, 4, 13 if TIMES else 4
"""With two kinds of networks: 3,200 deliveries, and 10,400 in `make soak`."""


def found(storm: Storm, sent: list[Sent], unknown: frozenset[str]) -> list[str]:
    """What is wrong with what people see. `unknown` are the deliveries that say of themselves that nobody knows."""
    wrong: list[str] = []
    seen: dict[str, list[str]] = {}
    for message in storm.far.messages.values():
        seen.setdefault(message.address.chat, []).append(message.text)
    for one in sent:
        texts = seen.get(one.chat, [])
        counted = Counter(texts)
        marked = Counter(text.removeprefix(AGAIN).strip() for text in texts if text.startswith(AGAIN))
        for piece in render(one.text, DiscordMarkdown(), storm.capabilities):
            plain, again = counted[piece.marked], marked[piece.marked]
            if plain + again < 1 and one.id not in unknown:
                wrong.append(f"{one.id}: “{piece.plain}” is lost")
            if plain > 1 or again > 1 or (storm.far.idempotent and again):
                wrong.append(f"{one.id}: “{piece.plain}” stands there {plain} times, and {again} times marked")
        told = any("Nobody knows whether" in text for text in texts)
        if one.id in unknown and not told:
            wrong.append(f"{one.id}: nobody was told that nobody knows")
    for chat, texts in seen.items():
        drafts = [text for text in texts if text.endswith("…") and text.split()[1] not in unknown]
        repeats = [text for text in texts if text.startswith(AGAIN)]
        if len(drafts) > len(repeats):
            wrong.append(f"{chat}: a preview was left: {drafts}")
    return wrong


@pytest.mark.parametrize("idempotent", [False, True], ids=["without keys", "with keys"])
async def test_every_answer_is_there_once_whatever_the_weather(tmp_path: Path, idempotent: bool) -> None:
    far = FarEnd(idempotent=idempotent)
    lives = 0
    for batch in range(BATCHES):
        weather = Weather(batch, bad=0.15, deadly=0.002)
        far.trouble = weather.trouble
        storm = Storm(tmp_path / "home", far, weather, SMALL if batch % 2 else DRAFTING)
        sent = await storm.begin(CHATS, ANSWERS, f"b{batch}")
        await storm.pass_over()
        lives += storm.lives
        unknown = await storm.unknown()
        assert found(storm, sent, unknown) == []
        assert not (idempotent and unknown)
    assert lives > BATCHES, "nobody died"
    assert all(any(chat.startswith(f"b{batch}-") for chat in far.drafts) != batch % 2 for batch in range(BATCHES))
