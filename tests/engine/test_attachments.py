"""A file lies where tools can work on it before any request names it; one that cannot be put there is told of."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.errors import StoreFull
from angelia.testing.model.steps import say
from tests.engine.driven import ANN, World, driven

pytestmark = pytest.mark.anyio


async def test_a_file_is_placed_before_the_model_is_asked_and_told_where(tmp_path: Path) -> None:
    placed: list[str] = []

    async def place(media: Media) -> str:
        placed.append(media.name)
        return f"inbox/{media.name}"

    async with driven(tmp_path, [say("Got it.")], World(place=place)) as one:
        await one.say("Keep this.", await one.voice("song.ogg"))
        await one.drive()
        kinds = [type(entry.fact).__name__ for entry in one.log.entries]
        assert kinds.index("FilesPlaced") < kinds.index("ModelAsked")
        assert placed == ["song.ogg"]
        assert [file.path for fact in one.facts(e.FilesPlaced) for file in fact.files] == ["inbox/song.ogg"]
        assert "inbox/song.ogg" in str(one.provider.requests[0].messages)


async def test_one_that_cannot_be_placed_is_told_in_the_same_commit_and_holds_up_nothing(tmp_path: Path) -> None:
    async def place(media: Media) -> str:
        if media.name == "big.ogg":
            raise StoreFull("The disk is full.")
        return f"inbox/{media.name}"

    async with driven(tmp_path, [say("One is missing.")], World(place=place)) as one:
        batches: list[list[type]] = []
        one.log.listen(lambda entries: batches.append([type(entry.fact) for entry in entries]))
        await one.say("Keep these.", await one.voice("big.ogg"), await one.voice("song.ogg"))
        await one.drive()
        assert [e.FilesPlaced, e.DeliveryQueued] in batches
        assert [(file.path, file.why) for file in one.facts(e.FilesPlaced)[0].files] == [
            ("", "The disk is full."),
            ("inbox/song.ogg", ""),
        ]
        (notice, address, words), answer = one.told
        assert (notice, address, answer[0]) == ("notice", ANN, "answer")
        assert "could not be put into the sandbox: The disk is full." in words
