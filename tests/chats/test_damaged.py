"""A chat whose log is damaged: whoever is there is told, and goes on in a new conversation."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import hang, say
from tests.chats.town import envelope, town

pytestmark = pytest.mark.anyio

_GONE = "What we said here so far cannot be read any more"


def damage(folder: Path) -> None:
    """What a failing disk may do to an entry of each conversation."""
    with closing(sqlite3.connect(next(folder.rglob("angelia.db")))) as other:
        other.execute("DROP TRIGGER entries_never_change")
        other.execute("UPDATE entries SET at = at + 1 WHERE seq = 2")
        other.commit()


async def test_who_writes_is_told_and_answered_in_a_new_conversation(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([say("One."), say("Two."), say("Three.")]) as server:
        async with town(tmp_path, server, far) as life:
            await life.channel.bring(envelope("kumquat"))
            await life.answered(1, "7")
        damage(tmp_path)
        async with town(tmp_path, server, far) as life:
            await life.channel.bring(envelope("again"))
            await far.when(lambda far: "Two." in far.texts("7"))
            await life.channel.bring(envelope("and again"))
            await far.when(lambda far: "Three." in far.texts("7"))
    told = [text for text in far.texts("7") if _GONE in text]
    assert len(told) == 1
    assert "Entry 2 of" in told[0]
    assert b"kumquat" not in server.requests[-1].raw


async def test_who_waits_for_an_answer_is_told_at_the_next_start(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([hang()]) as server:
        async with town(tmp_path, server, far) as life:
            await life.channel.bring(envelope("kumquat"))
            await server.when(lambda server: bool(server.requests))
        damage(tmp_path)
        for _ in range(2):
            async with town(tmp_path, server, far):
                await far.when(lambda far: any(_GONE in text for text in far.texts("7")))
    assert len([text for text in far.texts("7") if _GONE in text]) == 1
