"""Hosts are granted where the sandbox holds a command to them, and nowhere else."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core.entry import Address, ApprovalAsked, ApprovalGiven, ConversationOpened, Scope
from angelia.core.errors import StoreClosed
from angelia.core.ids import CallId, new_conversation, wall_clock
from angelia.core.principal import OWNER
from angelia.policy.approvers import owner_at
from angelia.policy.situation import Mode
from angelia.policy.verdict import Allow, Ask, Deny, FetchUrl, RunCommand, ShowUrl
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Description
from angelia.service.conversation.conversation_judge import JudgedConversation, conversation_judge
from angelia.service.settings.config import load
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.store.tables.grants import Grants

pytestmark = pytest.mark.anyio


class Described(LocalSandbox):
    """A sandbox that says of itself what a test wants."""

    says: Description

    async def describe(self) -> Description:
        return self.says


SAYS = Description("some", "Linux", "/work", confined=True, network="off until granted")


@pytest.mark.parametrize(
    ("says", "reach", "pattern"),
    [
        (replace(SAYS, limits_hosts=True), "network", "host: a.org"),
        (SAYS, "network", "network: make"),
        (replace(SAYS, always_networked=True), "confined", "network: make"),
        (replace(SAYS, limits_hosts=True, confined=False), "network", "unconfined: make"),
        (replace(SAYS, limits_hosts=True, commands_by="its terminal"), "network", "use: the editor, its terminal"),
    ],
    ids=["held to them", "not held", "always networked", "not confined", "run by an editor"],
)
async def test_a_yes_is_to_hosts_only_where_they_hold(
    tmp_path: Path, says: Description, reach: str, pattern: str
) -> None:
    (tmp_path / "work").mkdir()
    sandbox = Described(tmp_path / "work", home=tmp_path / "home", state=tmp_path / "state")
    sandbox.says = says
    place = (new_conversation(wall_clock), OWNER, "local", "/work")
    standing = JudgedConversation(
        *place, lambda: Address("terminal"), lambda: Mode.EDIT, tuple, approvers=owner_at(Address("terminal"))
    )
    db = Database.open(tmp_path / "home")
    try:
        judge = conversation_judge(load(tmp_path / "home", {}), standing, sandbox, Grants(db))
        asked = await judge([RunCommand("make", "/work", reach, ("a.org",))])
    finally:
        db.close()
        await sandbox.close()
    assert isinstance(asked, Ask)
    assert asked.pattern == pattern


async def test_what_needs_no_yes_is_judged_without_a_look_at_what_was_granted(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    sandbox = Described(tmp_path / "work", home=tmp_path / "home", state=tmp_path / "state")
    sandbox.says = SAYS
    place = (new_conversation(wall_clock), OWNER, "local", "/work")
    standing = JudgedConversation(
        *place, lambda: Address("terminal"), lambda: Mode.EDIT, tuple, approvers=owner_at(Address("terminal"))
    )
    db = Database.open(tmp_path / "home")
    db.close()
    judge = conversation_judge(load(tmp_path / "home", {}), standing, sandbox, Grants(db))
    assert isinstance(await judge([RunCommand("make", "/work", "confined")]), Allow)
    with pytest.raises(StoreClosed):
        await judge([RunCommand("make", "/work", "network", ("a.org",))])
    await sandbox.close()


async def test_a_picture_in_an_answer_is_fetched_where_its_site_was_granted(tmp_path: Path) -> None:
    """What is shown is refused without that yes, and never asked about."""
    (tmp_path / "work").mkdir()
    sandbox = Described(tmp_path / "work", home=tmp_path / "home", state=tmp_path / "state")
    sandbox.says = SAYS
    conversation, call, address = new_conversation(wall_clock), CallId("c1_0"), Address("terminal")
    place = (conversation, OWNER, "local", "/work")
    standing = JudgedConversation(*place, lambda: address, lambda: Mode.EDIT, tuple, approvers=owner_at(address))
    db = Database.open(tmp_path / "home")
    try:
        judge = conversation_judge(load(tmp_path / "home", {}), standing, sandbox, Grants(db))
        asked = await judge([FetchUrl("https://example.com/page")])
        picture = [ShowUrl("https://example.com/a.png")]
        assert isinstance(asked, Ask)
        assert isinstance(await judge(picture), Deny)
        question = ApprovalAsked(call, asked.question, digest="d", pattern=asked.pattern, approvers=(OWNER,))
        given = ApprovalGiven(call, "d", OWNER, Scope.REMEMBERED)
        await Transcript(db).append(conversation, [ConversationOpened("terminal", "/work"), question, given])
        assert isinstance(await judge(picture), Allow)
    finally:
        db.close()
        await sandbox.close()


async def pattern_of(work: Path, command: str, cwd: Path, reach: str = "network") -> str:
    """What a yes to a command would be remembered as."""
    sandbox = LocalSandbox(work, home=work.parent / "home", state=work.parent / "state", confine="off")
    place = (new_conversation(wall_clock), OWNER, "local", str(work))
    standing = JudgedConversation(
        *place, lambda: Address("terminal"), lambda: Mode.EDIT, tuple, approvers=owner_at(Address("terminal"))
    )
    db = Database.open(work.parent / "home")
    try:
        judge = conversation_judge(load(work.parent / "home", {}), standing, sandbox, Grants(db))
        asked = await judge([RunCommand(command, str(cwd), reach)])
    finally:
        db.close()
        await sandbox.close()
    assert isinstance(asked, Ask)
    return asked.pattern


async def test_a_push_is_bound_to_the_settings_of_the_repository_in_which_it_runs(tmp_path: Path) -> None:
    work, push = tmp_path / "work", "git push origin main"
    config = work / ".git" / "config"
    config.parent.mkdir(parents=True)
    config.write_text('[remote "origin"]\n\turl = https://x.example/a.git\n')
    (work / "deep").mkdir()
    before = await pattern_of(work, push, work)
    assert "git push origin main [https://x.example/a.git #" in before
    assert (await pattern_of(work, push, work / "deep")).endswith(before.partition(" [")[2])
    config.write_text('[remote "origin"]\n\turl = https://evil.example/a.git\n')
    assert await pattern_of(work, push, work) != before
    config.write_text("[include]\n\tpath = more\n")
    assert await pattern_of(work, push, work) == ""
    (work / "deep" / ".git").write_text("gitdir: ../elsewhere\n")
    config.write_text("")
    assert await pattern_of(work, push, work / "deep") == ""
