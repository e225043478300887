"""A real agent from the registry works for us on a scripted model: Claude's, as its package is installed."""

import json
import os
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, ToolCall
from angelia.core.ending import Answered
from angelia.core.principal import OWNER
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.steps import Step, call, say
from tests.delegation.family import WAIT, child_log, delegate, family, until, words
from tests.npm import installed
from tests.workers.employed import FREE, TASK, ended

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm"), pytest.mark.slow]

HERE = Path(__file__).parent
SETTINGS = {
    "ANTHROPIC_API_KEY": "none",
    "ANTHROPIC_BASE_URL": "${ANTHROPIC_BASE_URL}",
    "ANTHROPIC_MODEL": "claude-sonnet-4-5",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "PATH": os.environ["PATH"],
}
"""What the variables of its helper are; it has a home of its own beside."""


async def test_claude_asks_before_it_writes_and_its_answer_and_cost_are_the_helpers(tmp_path: Path) -> None:
    counter = tmp_path / "workspace" / "counter.txt"

    def script(request: ReceivedRequest) -> Step:
        told = "\n".join(one.text for one in request.heard.messages if one.role == "user")
        ours = [delegate({"task": TASK, "helper": "claude"}), WAIT, say("All done.")]
        its = [call("Write", {"file_path": str(counter), "content": "2\n"}), say("The counter is 2 now.")]
        if not request.heard.tools:  # a title for its session, which it may want
            return say("The counter")
        return (ours if "Begin." in told else its)[request.heard.replies]

    program = installed("acp-claude", HERE / "claude" / "package.json") / "node_modules/.bin/claude-agent-acp"
    (home := tmp_path / "its").mkdir()
    env = ", ".join(f"{name}={json.dumps(value)}" for name, value in {**SETTINGS, "HOME": str(home)}.items())
    sets = (*FREE, f"helpers.claude.command={json.dumps([str(program)])}", f"helpers.claude.env={{{env}}}")
    async with family(tmp_path, script, sets=(*sets, 'helpers.claude.worker="acp:claude"')) as (talk, _):
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        assert asked.question.startswith("[h1] ")
        assert "counter.txt" in asked.question
        assert not counter.exists()
        await talk.session.approve(asked, by=OWNER)
        over = await ended(talk)
        assert (words(over), over.status) == ("The counter is 2 now.", CallStatus.OK)
        assert over.child
        assert over.child.ending == Answered()
        assert over.child.cost > 0, "it tells what it has cost"
        facts = await child_log(talk)
    calls = [p.name for fact in facts if isinstance(fact, e.ModelSaid) for p in fact.parts if isinstance(p, ToolCall)]
    assert calls == ["start_worker", "permission", "step"]
    (diff,) = [diff for fact in facts if isinstance(fact, e.ToolFinished) for diff in fact.diffs]
    assert (diff.path, diff.new) == (str(counter), "2\n")
    assert counter.read_text() == "2\n"
