"""A child's question stands in its own log and in its parent's: an answer in either stands in both, once."""

from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.principal import OWNER
from angelia.service.conversation.first_answer import NotOpen
from angelia.service.conversation.session import Session
from angelia.testing.model.steps import call, say
from tests.delegation.family import WAIT, by_task, child_log, delegate, family, until

pytestmark = pytest.mark.anyio

SCRIPT = by_task(
    {
        "make the file": [call("shell", {"command": "touch made", "reach": "outside"}), say("Made.")],
        "Begin": [delegate("make the file"), WAIT, say("Done.")],
    }
)


async def test_what_is_answered_in_a_childs_own_conversation_is_asked_nowhere_else_any_more(tmp_path: Path) -> None:
    async with family(tmp_path, SCRIPT, sets=("policy.mode=ask",)) as (talk, _):
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        child = talk.facts(e.WorkStarted)[0].child
        assert child
        elsewhere = Session(child.id, talk.app.db, talk.app.transcript, "another process")
        await elsewhere.log.refresh()
        await elsewhere.refuse(elsewhere.questions()[0], by=OWNER, why="not there")
        await until(talk, lambda: not talk.session.questions())
        assert talk.facts(e.ApprovalRefused) == [e.ApprovalRefused(asked.call, OWNER, "not there")]
        with pytest.raises(NotOpen, match="answered before: no, by the owner"):
            await talk.session.approve(asked, by=OWNER)
        assert await talk.ending() == end.Answered()
        assert len([fact for fact in await child_log(talk) if isinstance(fact, e.ApprovalRefused)]) == 1


async def test_an_answer_above_stands_once_in_each_of_the_logs(tmp_path: Path) -> None:
    async with family(tmp_path, SCRIPT, sets=("policy.mode=ask",)) as (talk, _):
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.session.questions()))
        await talk.session.approve(talk.session.questions()[0], by=OWNER)
        assert await talk.ending() == end.Answered()
        given = [fact for fact in await child_log(talk) if isinstance(fact, e.ApprovalGiven)]
        assert (len(given), len(talk.facts(e.ApprovalGiven))) == (1, 1)
