"""Who works on what, since when, for how much: at a terminal while it goes on, and afterwards from the log."""

from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.ids import CallId
from angelia.core.principal import OWNER
from angelia.engine.live import Committed, Working
from angelia.faces.cli.chat.live_rows import live_rows
from angelia.faces.cli.chat.live_view import LiveView
from angelia.faces.web.conversations.entry_view import EntryViews
from angelia.faces.words.reply_stream import ReplyStream
from angelia.faces.words.transcript_lines import TranscriptLines
from angelia.service.delegation.outcome import unpriced_in
from angelia.service.delegation.tree import below, shown_rows, tree_of
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Hang, call, say
from tests import nursery
from tests.delegation.family import WAIT, by_task, delegate, family, until
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio


async def test_a_tree_shows_each_helper_with_its_state_and_what_it_has_cost(tmp_path: Path) -> None:
    script = by_task(
        {
            "look": [call("shell", {"command": "true"}), say("Seen.")],
            "hang": [Hang()],
            "Begin": [delegate("look", "hang"), call("helper", {"action": "wait", "names": ["h1"]}), say("Well.")],
        }
    )
    async with family(tmp_path, script) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        rows = await tree_of(talk.app.transcript, talk.session.conversation, "Begin.")
        shown = shown_rows(rows, str)
        assert [(row[0], row[1], row[3], row[5]) for row in shown[1:]] == [
            ("  h1", "Answered", "2", "look"),
            ("  h2", "works", "1", "hang"),
        ]
        assert [row[4] for row in shown[:2]] == ["price unknown"] * 2  # nobody knows this model's price


async def test_a_helpers_price_that_nobody_knows_is_told_as_unknown(tmp_path: Path) -> None:
    script = by_task({"look": [say("Seen.")], "Begin": [delegate("look"), WAIT, say("Well.")]})
    async with family(tmp_path, script) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        entries = talk.session.log.entries
        (ended,) = [one for one in entries if isinstance(one.fact, e.WorkEnded)]
        assert isinstance(ended.fact, e.WorkEnded)
        assert ended.fact.child == e.ChildEnd(end.Answered(), cost=0, steps=1, unpriced=1)
        told = [line.text for line in TranscriptLines().tell(ended)]
        assert told == ["h1 has answered · 1 model call · price unknown"]
        assert EntryViews().view(ended)["child"] == {"ending": "Answered", "cost": 0, "unpriced": 1, "steps": 1}
        assert unpriced_in(entries) == 4, "its own three, and its helper's"
        rows = await tree_of(talk.app.transcript, talk.session.conversation, "Begin.")
        assert [row.unpriced for row in rows] == [4, 1]


async def test_a_conversation_is_deleted_with_those_that_worked_for_it(tmp_path: Path) -> None:
    script = by_task({"look": [say("A secret.")], "Begin": [delegate("look"), WAIT, say("Done.")]})
    async with ModelServer(script) as server:
        place = Place(tmp_path, server)
        assert (await place.ask("Begin.")).status == 0
        one = await place.conversation()
        shown = await nursery.run(["tree"], place.env)
        assert [line.split()[1] for line in shown.stdout.splitlines()[1:]] == ["at", "Answered"]
        gone = await nursery.run(["delete", one, "--yes-really"], place.env)
        assert gone.status == 0, gone.stderr
    assert b"A secret." not in (place.home / "angelia.db").read_bytes()


def test_a_helper_is_a_row_above_the_input_until_its_end_whatever_its_parent_does() -> None:
    view = LiveView(TranscriptLines(), ReplyStream(), clock=lambda: 7.0)
    terms = e.ChildTerms(parent="p", root="p", name="h1")  # type: ignore[arg-type]
    child = e.Child("k", terms, "Look.")  # type: ignore[arg-type]

    def told(*facts: e.AnyFact) -> str:
        view.see(Committed(tuple(e.Entry(1, 0, fact) for fact in facts)))
        return "\n".join("".join(text for _, text in row) for row in live_rows(view, 60, 20))

    assert "▸ h1 · Look." in told(e.WorkStarted(CallId("h1"), e.WorkKind.CHILD, "Look.", "life", child))
    view.see(Working(CallId("h1"), "2 model calls · $0.0100 · shell"))
    assert "2 model calls" in told(e.TurnClosed(end.Answered()))
    assert told(e.WorkEnded(CallId("h1"), e.WorkKind.CHILD, "ok", child=e.ChildEnd(end.Answered()))) == ""  # type: ignore[arg-type]


async def test_nothing_is_below_a_conversation_that_never_delegated(tmp_path: Path) -> None:
    async with family(tmp_path, by_task({"Begin": [say("Done.")]})) as (talk, _):
        await talk.say("Begin.")
        await until(talk, lambda: not talk.session.turn.opened)
        assert await below(talk.app.transcript, talk.session.conversation) == []
        assert (await talk.app.transcript.spent(OWNER, 0)).cost == 0
