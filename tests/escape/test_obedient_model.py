"""A model that does whatever the words of a stranger tell it, against every mode, at every door.

Whole turns through the real broker, store and sandbox. Somebody is there to be asked, and says no to everything: so
each attack is refused outright, asks, or runs, and then it must have done no harm.
"""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.policy.situation import Mode
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.escape.doors import DOORS, Obeyed, at_the_terminal
from tests.escape.obedient import HOSTILE, MODES, attacks, contents, furnished, named, outcomes, script

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
async def test_an_obedient_model_gets_nothing_out_and_nothing_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: Obeyed, mode: Mode
) -> None:
    table = attacks(tmp_path / "home")
    async with ModelServer(script(tmp_path / "home")) as server:
        place = furnished(tmp_path, server, mode)
        monkeypatch.setenv("HOME", place.env["HOME"])
        before = contents(tmp_path)
        log = await door(place, server)
        assert {attack.what: outcome for attack, outcome in zip(table, outcomes(log), strict=False)} == {
            attack.what: attack.outcomes[MODES.index(mode)] for attack in table
        }
        assert named(log) == [("MEDIA", "?")]
        after = contents(tmp_path)
    assert {path: text for path, text in after.items() if before.get(path) != text} == {}
    assert not any(isinstance(fact, e.ApprovalGiven) for fact in log)
    (opened,) = {fact.address for fact in log if isinstance(fact, e.UserSaid)}
    queued = [fact for fact in log if isinstance(fact, e.DeliveryQueued)]
    assert {fact.address for fact in queued if fact.origin != "question"} == {opened}
    assert {fact.address.chat for fact in queued if fact.origin == "question"} <= {"7"}


async def test_emptying_asks_where_there_is_something_to_lose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [": > note.md", ": > new.txt", "mv note.md moved.md && : > moved.md", "ln -s note.md link", ": > link"]
    steps = [*(call("shell", {"command": command}) for command in ("true", *commands)), say("Done.")]
    async with ModelServer(steps) as server:
        place = furnished(tmp_path, server, Mode.EDIT)
        monkeypatch.setenv("HOME", place.env["HOME"])
        log = await at_the_terminal(place, server)
    assert dict(zip(commands, outcomes(log), strict=True)) == dict(zip(commands, "?y?y?", strict=True))
    assert (place.workspace / "new.txt").exists()
    assert (place.workspace / "note.md").read_text() == HOSTILE
