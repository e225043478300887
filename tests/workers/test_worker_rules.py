"""What holds for a helper that is another agent: what it has none of, who has none, and what is read late."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core.content import CallStatus, Media
from angelia.core.errors import BadInput, ConfigError
from angelia.core.principal import OWNER
from angelia.sandboxes.port import Reach
from angelia.service.conversation.undo_command import undo_command
from angelia.service.delegation.employed_worker import program_of
from angelia.service.delegation.plan import Means, plan
from angelia.service.delegation.settings import ChildPreset, DelegationSettings
from angelia.service.delegation.workers import worker_of
from angelia.service.settings.secret_refs import SecretRefs
from angelia.testing.model.steps import Speak, say
from angelia.tools.delegation.access import DelegatedTask
from tests.acp.editor import checker
from tests.delegation.family import WAIT, by_task, delegate, family, until, words
from tests.workers.employed import FREE, TASK, Script, command, employed, ended, heard, until_it_writes

pytestmark = pytest.mark.anyio

CODER = ChildPreset(command=("my-agent",))


@pytest.mark.parametrize("more", [{"model": "openai:m"}, {"tools": ("read",)}], ids=str)
def test_settings_give_another_agent_no_model_and_no_tools_of_ours(more: Mapping[str, object]) -> None:
    preset = ChildPreset(command=("my-agent",), **more)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="works with its own"):
        worker_of("coder", preset)


@pytest.mark.parametrize("more", [{"model": "m"}, {"tools": ("read",)}], ids=str)
def test_a_task_gives_another_agent_no_model_and_no_tools_of_ours(more: Mapping[str, object]) -> None:
    means = Means(DelegationSettings(), {"coder": CODER}, 0, None, "m", ("m",), ("read", "write"))
    with pytest.raises(BadInput, match="with its own model and tools"):
        plan([DelegatedTask(TASK, helper="coder", **more)], means)  # type: ignore[arg-type]
    (planned,) = plan([DelegatedTask(TASK, helper="coder")], means)
    assert (planned.worker, planned.model, planned.tools) == ("coder", "", ())


async def test_a_helper_whose_tools_are_narrowed_has_no_other_agent_at_its_hand(tmp_path: Path) -> None:
    employ = delegate({"task": TASK, "helper": "coder"})
    script = by_task(
        {
            "hand it on": [employ, say("I may not.")],
            "Begin": [delegate({"task": "hand it on", "tools": ["read", "delegate"]}), WAIT, say("All done.")],
        }
    )
    sets = (*FREE, "delegation.depth=2", command(tmp_path, [["touch", "moved"], ["say", "Moved."]]))
    async with family(tmp_path, script, sets=sets) as (talk, server):
        await talk.say("Begin.")
        assert words(await ended(talk)) == "I may not."
        assert any("No helper 'coder' is set up." in one.raw.decode() for one in server.requests)
    assert not (tmp_path / "workspace" / "moved").exists()


async def test_its_secrets_are_read_when_it_is_started_and_not_before(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    secrets = SecretRefs(environ)
    preset = ChildPreset(command=("my-agent",), env={"KEY": "${CODER_KEY}"})
    program = program_of("coder", worker_of("coder", preset), preset, secrets)
    with pytest.raises(ConfigError, match="CODER_KEY is not set"):
        await program.env()
    environ["CODER_KEY"] = "first"
    assert await program.env() == {"KEY": "first"}
    environ["CODER_KEY"] = "second"
    assert (await program.command("c1", ".", Reach.NETWORK)).env == {"KEY": "second"}
    assert secrets.known() == {"first", "second"}, "the redactor knows them"


async def test_one_whose_secret_is_not_there_is_told_as_not_started_and_no_one_else_is_hindered(tmp_path: Path) -> None:
    async with employed(tmp_path, [], sets=(*FREE, 'helpers.coder.env={KEY = "${CODER_KEY}"}')) as talk:
        over = await ended(talk)
        assert over.child
        assert isinstance(over.child.ending, end.WorkerFailed)
        assert over.child.ending.fate is end.WorkerFate.NOT_STARTED
        assert "The variable CODER_KEY is not set" in over.child.ending.said
        assert talk.words()[-1] == "All done."


async def test_it_reaches_the_hosts_of_its_settings_and_none_where_it_is_confined() -> None:
    preset = ChildPreset(command=("my-agent",), reach="network", hosts=("models.example",))
    program = program_of("coder", worker_of("coder", preset), preset, SecretRefs({}))
    online = await program.command("c1", ".", Reach(program.reach))
    assert (online.reach, online.hosts) == (Reach.NETWORK, ("models.example",))
    assert (await program.command("c1", ".", Reach.CONFINED)).hosts == ()


def begins(task: Mapping[str, object]) -> list[Speak]:
    return [delegate({"task": TASK, "helper": "coder", **task}), WAIT, say("All done.")]


async def test_what_it_writes_in_a_copy_comes_back_as_a_patch_and_the_folder_stays(tmp_path: Path) -> None:
    steps: Script = [["write", "counter.txt", "2\n"], ["say", "Done."], ["end", "end_turn"]]
    sets = (*FREE, command(tmp_path, steps))
    (counter := tmp_path / "workspace" / "counter.txt").write_text("1\n")
    async with family(tmp_path, by_task({"Begin": begins({"workspace": "copy"})}), sets=sets) as (talk, _):
        await talk.say("Begin.")
        over = await ended(talk)
        assert {part.name for part in over.parts if isinstance(part, Media)} >= {"h1.patch", "counter.txt"}
        assert counter.read_text() == "1\n"
    told = next(one for one in heard(tmp_path) if one.get("method") == "session/new")
    assert told["params"]["cwd"] != str(counter.parent)


async def test_what_it_wrote_through_us_is_taken_back_with_the_turn(tmp_path: Path) -> None:
    steps: Script = [["write", "counter.txt", "2\n"], ["write", "new.txt", "n"], ["say", "Done."], ["end", "end_turn"]]
    (tmp_path / "workspace").mkdir()
    (counter := tmp_path / "workspace" / "counter.txt").write_text("1\n")
    async with employed(tmp_path, steps) as talk:
        assert (await ended(talk)).status is CallStatus.OK
        assert counter.read_text() == "2\n"
        shown = await undo_command(talk.app.undo_services, talk.session, "1", by=OWNER)
        assert "counter.txt: gets back" in shown
        await undo_command(talk.app.undo_services, talk.session, "yes", by=OWNER)
    assert counter.read_text() == "1\n"
    assert not counter.with_name("new.txt").exists()


SENT = {
    "initialize": "InitializeRequest",
    "session/new": "NewSessionRequest",
    "session/prompt": "PromptRequest",
    "session/cancel": "CancelNotification",
}
ANSWERS = (
    "ReadTextFileResponse",
    "WriteTextFileResponse",
    "CreateTerminalResponse",
    "WaitForTerminalExitResponse",
    "TerminalOutputResponse",
    "ReleaseTerminalResponse",
    "RequestPermissionResponse",
)


async def test_what_we_send_it_is_as_the_schema_of_the_protocol_says(tmp_path: Path) -> None:
    steps: Script = [
        ["read", ".coder.json"],
        ["read", "none.txt"],
        ["write", "a.txt", "a"],
        ["run", "cat", ["a.txt"]],
        ["ask", "Move it", "edit"],
        ["say", "x"],
        ["wait"],
    ]
    async with employed(tmp_path, steps) as talk:
        await until(talk, lambda: bool(talk.session.questions()))
        await talk.session.approve(talk.session.questions()[0], by=OWNER)
        await until_it_writes(talk)
        await talk.session.stop(OWNER)
        await ended(talk)
    lines = heard(tmp_path)
    for line in lines:
        if "method" in line:
            checker(SENT[line["method"]]).validate(line["params"])
    assert {line["method"] for line in lines if "method" in line} == set(SENT)
    results = [line["result"] for line in lines if "method" not in line and "result" in line]
    assert len(results) == len(ANSWERS)
    for name, result in zip(ANSWERS, results, strict=True):
        checker(name).validate(result)
    (refused,) = [line["error"] for line in lines if "error" in line]
    checker("Error").validate(refused)
