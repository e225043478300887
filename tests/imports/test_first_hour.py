"""The program itself: from an old home to an answer that knows it, and killed on the way."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.ids import ConversationId
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests import nursery
from tests.imports.old_homes import HOMES, hermes_with_database, hermes_with_profiles
from tests.imports.test_imported_homes import imported, opened, stored
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

STEPS = 2
"""What somebody who comes from Hermes has to type until an answer knows what they said there."""


def asked_of_the_past(request: ReceivedRequest) -> Step:
    """Searches once, and says what it was told."""
    results = request.heard.messages[-1].results
    if not results:
        return call("search_past", {"query": "what is my boat called"})
    return say("It is called Halcyon." if "Halcyon" in str(results) else "Nobody told me.")


async def test_two_commands_lead_from_a_home_of_hermes_to_an_answer_that_knows_it(tmp_path: Path) -> None:
    hermes_with_profiles(tmp_path / "person/.hermes")
    async with ModelServer(asked_of_the_past) as server:
        place = Place(tmp_path, server)
        typed = [
            ["import", "hermes", str(tmp_path / "person/.hermes"), "-C", str(place.workspace)],
            place.argv("What is my boat called?"),
        ]
        ended = [await nursery.run(words, place.env) for words in typed]
    assert [one.status for one in ended] == [0, 0], ended
    assert len(ended) == STEPS
    assert "5 notes wait for your yes" in ended[0].stdout
    assert ended[1].stdout == "It is called Halcyon.\n"


async def test_a_dry_run_names_every_file_and_promises_nothing_that_is_not_done(tmp_path: Path) -> None:
    hermes_with_database(tmp_path / "old")
    async with ModelServer(asked_of_the_past) as server:
        place = Place(tmp_path, server)
        words = ["import", "hermes", str(tmp_path / "old"), "--dry-run", "--json", "-C", str(place.workspace)]
        ended = await nursery.run(words, place.env)
        told = await nursery.run([one for one in words if one != "--json"], place.env)
    assert "\nNothing was taken. Without --dry-run it is, and then:\nConversations are searched" in told.stdout
    files = [path for path in (tmp_path / "old").rglob("*") if path.is_file()]
    assert len(ended.stdout.splitlines()) == len(files)
    assert '"path":"state.db","verdict":"taken"' in ended.stdout


def what_is_in(logs: dict[ConversationId, list[e.Entry]]) -> dict[ConversationId, list[e.AnyFact]]:
    """Without the times at which it was taken."""
    return {name: [entry.fact for entry in log] for name, log in logs.items()}


@pytest.mark.parametrize("point", ["append.before_commit:4", "import.skill:1"])
async def test_killed_on_the_way_and_run_again_it_is_complete_and_nothing_is_doubled(
    point: str, tmp_path: Path
) -> None:
    agent, make = HOMES["hermes with a database"]
    make(tmp_path / "old")
    async with ModelServer(asked_of_the_past) as server:
        place = Place(tmp_path, server)
        words = ["import", agent, str(tmp_path / "old"), "-C", str(place.workspace)]
        await nursery.run_killed_at(point, words, place.env)
        again = await nursery.run(words, place.env)
    assert again.status == 0, again
    async with opened(tmp_path) as app:
        killed = what_is_in(await stored(app))
        assert (await imported(app, agent, tmp_path / "old")).conversations == 0
    async with opened(tmp_path / "other") as app:
        await imported(app, agent, tmp_path / "old")
        whole = what_is_in(await stored(app))
    assert killed.keys() == whole.keys()
    assert {name: len(log) for name, log in killed.items()} == {name: len(log) for name, log in whole.items()}
