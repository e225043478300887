"""Angelia asked by Angelia: the agent that works is `angelia acp`, with a home and a model of its own."""

import json
import sys
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, ToolCall
from angelia.core.principal import OWNER
from angelia.testing.model.steps import call, say
from tests.delegation.family import WAIT, by_task, child_log, delegate, family, until, words
from tests.workers.employed import FREE, TASK, ended

pytestmark = pytest.mark.anyio


async def test_another_angelia_writes_through_us_after_a_yes_and_its_answer_is_the_helpers(tmp_path: Path) -> None:
    script = by_task(
        {
            TASK: [call("write", {"path": "counter.txt", "content": "2\n"}), say("The counter is 2 now.")],
            "Begin": [delegate({"task": TASK, "helper": "other"}), WAIT, say("All done.")],
        }
    )
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.toml").write_text('model = "openai-chat:m"\n')
    ours = ("PYTHONPATH", "HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL")
    given = ", ".join([f'ANGELIA_HOME = "{other}"', *(f'{name} = "${{{name}}}"' for name in ours)])
    line = json.dumps([sys.executable, "-m", "angelia", "acp"])
    sets = (*FREE, 'helpers.other.worker="acp:angelia"', f"helpers.other.command={line}")
    async with family(tmp_path, script, sets=(*sets, f"helpers.other.env={{{given}}}")) as (talk, _):
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        assert "write counter.txt" in asked.question
        await talk.session.approve(asked, by=OWNER)
        over = await ended(talk)
        assert (words(over), over.status) == ("The counter is 2 now.", CallStatus.OK)
        facts = await child_log(talk)
    calls = [p.name for fact in facts if isinstance(fact, e.ModelSaid) for p in fact.parts if isinstance(p, ToolCall)]
    asked_for = list(dict.fromkeys(name for name in calls if name != "step"))
    assert asked_for == ["start_worker", "read", "permission", "write"]
    assert (tmp_path / "workspace" / "counter.txt").read_text() == "2\n"
