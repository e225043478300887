"""A folder's instructions: which file counts, who has to trust it, and what the model is shown of it in each turn."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.context.prompt.facts import NoFolderFile, UntrustedFile, UnusableFile
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import Address
from angelia.core.principal import Principal
from angelia.policy.approvers import owner_at
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import FileStat
from angelia.service.files.instruction_files import (
    FoundInstructions,
    InstructionSearch,
    find_instructions,
    instruction_search,
    on_this_machine,
    search_here,
)
from angelia.service.places.presets import Chosen
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

WORDS = "Use tabs, and sign with PLUM."
CHANGED = "Use blanks, and sign with PEAR."


@asynccontextmanager
async def served(folder: Path, *sets: str) -> AsyncIterator[tuple[Place, ModelServer]]:
    """A place whose workspace is a folder of a repository, and a model that answers whatever it is asked."""
    async with ModelServer(lambda _: say("Yes.")) as server:
        place = Place(folder, server, sets=sets)
        (folder / ".git").mkdir()
        yield place, server


async def trust(talk: Conversation, *, yes: bool = True) -> None:
    """The person answers the question about the file that is there now."""
    prompt = talk.app.conversations.prompt(talk.session)
    assert prompt.in_question
    await prompt.answer(prompt.in_question, trusted=yes, at=1)


def system(request: ReceivedRequest) -> str:
    """The system prompt of a request."""
    return str(request.body["messages"][0]["content"])


async def shown(talk: Conversation, server: ModelServer) -> str:
    """The system prompt of one more turn."""
    await talk.say("hello")
    await talk.ending()
    return system(server.requests[-1])


# -- what the model is shown ---------------------------------------------------------------------------------------


async def test_a_file_is_data_until_the_person_trusts_it_and_then_counts(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, server), conversation(place) as talk:
        (place.workspace / "AGENTS.md").write_text(WORDS)
        first = await shown(talk, server)
        assert "PLUM" not in first
        assert f"{place.workspace}/AGENTS.md is not trusted" in first
        assert talk.facts(e.SystemSaid) == []
        await talk.app.conversations.prompt(talk.session).look()
        await trust(talk)
        assert WORDS in await shown(talk, server)
        [note] = talk.facts(e.SystemSaid)
        assert "AGENTS.md as it stands now" in note.text


async def test_the_prompt_is_recorded_when_its_bytes_change_and_at_no_other_time(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, server), conversation(place) as talk:
        assert await shown(talk, server) == await shown(talk, server)
        assert len(talk.facts(e.SetupChanged)) == 1
        (place.workspace / "AGENTS.md").write_text(WORDS)
        await talk.app.conversations.prompt(talk.session).look()
        await trust(talk)
        assert await shown(talk, server) == await shown(talk, server)
        assert len(talk.facts(e.SetupChanged)) == 2
        (place.workspace / "AGENTS.md").write_text(WORDS)  # written again, with the same bytes
        await shown(talk, server)
        assert len(talk.facts(e.SetupChanged)) == 2


async def test_a_changed_file_is_told_and_neither_version_counts_until_it_is_trusted_again(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, server):
        file = place.workspace / "AGENTS.md"
        file.write_text(WORDS)
        async with conversation(place) as talk:
            await trust(talk)
            assert WORDS in await shown(talk, server)
            file.write_text(CHANGED)
            prompt = await shown(talk, server)
            assert "PLUM" not in prompt
            assert "PEAR" not in prompt
            assert "has changed since the person trusted it" in prompt
            [note] = talk.facts(e.SystemSaid)
            assert "has changed since it was trusted" in note.text
            await trust(talk)
            assert CHANGED in await shown(talk, server)


async def test_a_change_while_nobody_was_there_is_told_when_the_conversation_goes_on(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, server):
        file = place.workspace / "AGENTS.md"
        file.write_text(WORDS)
        async with conversation(place) as talk:
            await trust(talk)
            await shown(talk, server)
        async with conversation(place, again=True) as talk:
            assert WORDS in await shown(talk, server)
            assert talk.facts(e.SystemSaid) == []
        file.write_text(CHANGED)
        async with conversation(place, again=True) as talk:
            assert "PEAR" not in await shown(talk, server)
            [note] = talk.facts(e.SystemSaid)
            assert "has changed since it was trusted" in note.text


async def test_nothing_changes_inside_a_turn(tmp_path: Path) -> None:
    edit = call("write", {"path": "AGENTS.md", "content": CHANGED}) + call(
        "write", {"path": "CLAUDE.md", "content": "x"}
    )
    async with ModelServer(
        by_replies([call("read", {"path": "AGENTS.md"}), edit, say("Done."), say("Yes.")])
    ) as server:
        place = Place(tmp_path, server)
        (place.workspace / "AGENTS.md").write_text(WORDS)
        async with conversation(place) as talk:
            await trust(talk)
            await shown(talk, server)
            first, second, third = [system(request) for request in server.requests]
            assert WORDS in first
            assert first == second == third
            assert (place.workspace / "AGENTS.md").read_text() == CHANGED
            assert "has changed since the person trusted it" in await shown(talk, server)


@pytest.mark.parametrize("yes", [True, False])
async def test_an_answer_holds_in_every_conversation_and_for_one_version_alone(tmp_path: Path, yes: bool) -> None:
    async with served(tmp_path) as (place, server):
        file = place.workspace / "AGENTS.md"
        file.write_text(WORDS)
        async with conversation(place) as talk:
            await trust(talk, yes=yes)
        async with conversation(place) as talk:
            assert talk.app.conversations.prompt(talk.session).in_question is None
            assert ("PLUM" in await shown(talk, server)) is yes
        file.write_text(CHANGED)
        async with conversation(place) as talk:
            question = talk.app.conversations.prompt(talk.session).in_question
            assert question
            assert question.changed is yes


async def test_another_person_trusts_nothing_by_it(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, _):
        (place.workspace / "AGENTS.md").write_text(WORDS)
        async with conversation(place) as talk:
            await trust(talk)
            theirs = talk.app.conversations.begin(
                door="telegram", workspace=place.workspace, owner=Principal("telegram", "4711")
            )
            await talk.app.conversations.employ(theirs, f"{place.wire}:m", approvers=owner_at(Address("terminal")))
            assert isinstance(talk.app.conversations.prompt(theirs).facts.folder, UntrustedFile)
            assert await talk.app.trusted_files.list(Principal("telegram", "4711")) == []


async def test_a_chat_is_sent_what_has_changed(tmp_path: Path) -> None:
    address = e.Address("telegram", "4711")
    async with served(tmp_path) as (place, _), conversation(place) as talk:
        await talk.session.say([Text("hello")], address=address)
        await talk.ending()
        (place.workspace / "AGENTS.md").write_text(WORDS)
        await talk.session.say([Text("and now?")], address=address)
        await talk.ending()
        [notice] = [fact for fact in talk.facts(e.DeliveryQueued) if fact.origin == "notice"]
        assert notice.address == address
        assert notice.parts == (Text(talk.facts(e.SystemSaid)[0].text),)


async def test_with_the_setting_off_there_is_nothing_of_it(tmp_path: Path) -> None:
    async with served(tmp_path, "context.folder_instructions=false") as (place, server):
        (place.workspace / "AGENTS.md").write_text(WORDS)
        async with conversation(place) as talk:
            assert talk.app.conversations.prompt(talk.session).in_question is None
            assert "AGENTS" not in await shown(talk, server)


async def test_a_file_that_does_not_fit_is_told_once(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, server):
        (place.workspace / "AGENTS.md").write_text("One line of instructions.\n" * 1000)
        async with conversation(place) as talk:
            await trust(talk)
            assert "characters of this section are left out.]" in await shown(talk, server)
            await shown(talk, server)
            [note] = talk.facts(e.SystemSaid)
            assert "no room for all of the section “instructions of this folder”" in note.text


async def test_an_empty_file_and_a_folder_of_that_name_are_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, _):
        (place.workspace / "AGENTS.md").write_text(" \n")
        (place.workspace / "CLAUDE.md").mkdir()
        async with conversation(place) as talk:
            assert talk.app.conversations.prompt(talk.session).facts.folder == NoFolderFile()


async def test_what_is_no_text_is_not_used_and_the_model_is_told_why(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, server):
        (place.workspace / "AGENTS.md").write_bytes(b"caf\xe9")
        async with conversation(place) as talk:
            assert "AGENTS.md is not used: it is not UTF-8: byte 4 is 0xe9." in await shown(talk, server)


# -- which file counts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        (("repo/a/b/AGENTS.md", "repo/a/AGENTS.md", "repo/AGENTS.md"), "repo/a/b/AGENTS.md"),
        (("repo/a/AGENTS.md", "repo/AGENTS.md"), "repo/a/AGENTS.md"),
        (("repo/AGENTS.md", "repo/a/b/CLAUDE.md"), "repo/AGENTS.md"),
        (("repo/CLAUDE.md",), "repo/CLAUDE.md"),
        (("AGENTS.md", "CLAUDE.md"), ""),
        (("repo/a/b/sub/AGENTS.md",), ""),
        (("repo/a/.git", "repo/AGENTS.md"), ""),
    ],
)
async def test_the_nearest_file_within_the_repository_counts(
    tmp_path: Path, files: tuple[str, ...], counts: str
) -> None:
    (tmp_path / "repo" / "a" / "b").mkdir(parents=True)
    for name in ("repo/.git/HEAD", *files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    found = await find_instructions(search_here(tmp_path / "repo/a/b", tmp_path / "home", tmp_path / "state"))
    assert found == (FoundInstructions(str(tmp_path / counts), counts.encode()) if counts else NoFolderFile())


async def test_without_a_repository_only_the_workspace_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "AGENTS.md").write_text(WORDS)
    found = await find_instructions(search_here(tmp_path / "work", tmp_path / "home", tmp_path / "state"))
    assert found == NoFolderFile()


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("../outside.md", "leads out of"),
        ("/etc/hostname", "leads out of"),
        ("a/up", "leads out of"),
        (".env", "It holds secrets"),
        ("gone.md", "where nothing is"),
        ("AGENTS.md", "more than 40 links"),
        ("fifo", "no ordinary file"),
        ("large", "larger than 1 MB"),
    ],
)
async def test_a_link_is_followed_within_the_repository_and_never_out_of_it(
    tmp_path: Path, target: str, why: str
) -> None:
    repository = tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    (repository / "a").mkdir()
    (tmp_path / "outside.md").write_text("SECRET")
    (repository / "a" / "up").symlink_to("../../outside.md")
    (repository / ".env").write_text("SECRET")
    os.mkfifo(repository / "fifo")
    (repository / "large").write_bytes(b"x" * 1_000_001)
    (repository / "AGENTS.md").symlink_to(target)
    found = await find_instructions(search_here(repository / "a", tmp_path / "home", tmp_path / "state"))
    assert isinstance(found, UnusableFile)
    assert why in found.why
    assert found.path == str(repository / "AGENTS.md")


async def test_a_link_within_the_repository_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rules.md").write_text(WORDS)
    (tmp_path / "AGENTS.md").symlink_to("docs/rules.md")
    found = await find_instructions(search_here(tmp_path, tmp_path / "home", tmp_path / "state"))
    assert found == FoundInstructions(str(tmp_path / "AGENTS.md"), WORDS.encode())


async def test_angelias_own_home_is_never_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(WORDS)
    (tmp_path / "AGENTS.md").symlink_to("home/config.toml")
    found = await find_instructions(search_here(tmp_path, tmp_path / "home", tmp_path / "state"))
    assert isinstance(found, UnusableFile)


# -- in a sandbox elsewhere ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "rooms", "here"),
    [
        ("local", {}, True),
        ("apptainer:tools.sif", {}, True),
        ("docker:python:3.12", {"docker": DockerSettings()}, True),
        ("docker:python:3.12", {"docker": DockerSettings(workspace="tmpfs")}, False),
        ("modal:python:3.12", {}, False),
        ("ssh:box:/srv", {}, False),
        ("strangers:own", {}, False),
    ],
)
def test_which_sandboxes_work_in_a_folder_of_this_machine(spec: str, rooms: dict[str, object], here: bool) -> None:
    assert on_this_machine(Chosen(spec, "", rooms)) is here


@pytest.mark.parametrize(("name", "counts"), [("AGENTS.md", True), ("../AGENTS.md", False)])
async def test_elsewhere_only_the_workspace_is_looked_at_and_through_the_sandbox(
    tmp_path: Path, name: str, counts: bool
) -> None:
    work = tmp_path / "repo" / "a"
    work.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (work / name).write_text(WORDS)
    there = LocalSandbox(work, home=tmp_path / "home", state=tmp_path / "state", confine="off")
    far = Chosen("ssh:box", "", {})
    search = await instruction_search(far, "/not/here", there, tmp_path / "home", tmp_path / "state")
    assert search.where == "ssh:box"
    found = await find_instructions(search)
    assert found == (FoundInstructions(str(work / "AGENTS.md"), WORDS.encode()) if counts else NoFolderFile())


async def test_elsewhere_a_link_out_of_the_workspace_is_refused(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "outside.md").write_text("SECRET")
    (work / "AGENTS.md").symlink_to("../outside.md")
    there = LocalSandbox(work, home=tmp_path / "home", state=tmp_path / "state", confine="off")
    far = Chosen("ssh:box", "", {})
    search = await instruction_search(far, "/not/here", there, tmp_path / "home", tmp_path / "state")
    assert isinstance(await find_instructions(search), UnusableFile)


class Swapped(LocalSandbox):
    """A sandbox in which somebody puts a link in the file's place, after it was judged and before it is read."""

    def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        """Read, a moment too late."""
        Path(path).unlink()
        Path(path).symlink_to(".env")
        return super().get(path, limit=limit)


async def test_a_link_that_is_laid_after_the_file_was_judged_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET")
    (tmp_path / "AGENTS.md").write_text(WORDS)
    there = Swapped(tmp_path, home=tmp_path / "home", state=tmp_path / "state", confine="off")
    root = str(tmp_path)
    found = await find_instructions(InstructionSearch("", root, (root,), lambda: there, tmp_path / "home"))
    assert isinstance(found, UnusableFile)


async def test_the_embedded_model_is_asked_nothing_and_gets_the_small_prompt(tmp_path: Path) -> None:
    async with served(tmp_path) as (place, _):
        (place.workspace / "AGENTS.md").write_text(WORDS)
        async with conversation(place) as talk:
            await trust(talk)
            prompt = talk.app.conversations.prompt(talk.session)
            await prompt.look()
            able = talk.app.model_catalog.profile(f"{place.wire}:m")
            assert WORDS in prompt.prompt_for(able).text
            assert "PLUM" not in prompt.prompt_for(replace(able, wire="local")).text


class Counting(LocalSandbox):
    """A sandbox that counts how often it is looked into."""

    looks = 0

    async def stat(self, path: str) -> FileStat:
        """Look."""
        self.looks += 1
        return await super().stat(path)


async def test_elsewhere_the_file_is_looked_at_again_only_when_something_was_done_there(tmp_path: Path) -> None:
    async with ModelServer(by_replies([call("todo", {"items": []}), say("Done.")])) as server:
        place = Place(tmp_path, server)
        (place.workspace / "AGENTS.md").write_text(WORDS)
        there = Counting(place.workspace, home=place.home, state=tmp_path / "state", confine="off")
        async with conversation(place) as talk:
            prompt = talk.app.conversations.prompt(talk.session)
            prompt.work_in(Chosen("ssh:box", "", {}), there, talk.app.model_catalog.profile(f"{place.wire}:m"))
            await prompt.look()
            looks = there.looks
            await prompt.look()
            assert (looks > 0, there.looks) == (True, looks)
            assert prompt.where == "ssh:box"
            await shown(talk, server)
            looks = there.looks
            await prompt.look()
            assert there.looks > looks
