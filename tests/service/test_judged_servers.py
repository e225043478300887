"""A server of the settings that runs in the sandbox is judged as what it is there: as confined as commands are."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core.entry import Address
from angelia.core.ids import new_conversation, wall_clock
from angelia.core.principal import OWNER
from angelia.policy.approvers import owner_at
from angelia.policy.situation import Mode
from angelia.policy.verdict import Ask, Trust, UseServer
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Description
from angelia.service.conversation.conversation_judge import JudgedConversation, conversation_judge
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from angelia.store.sql.database import Database
from angelia.store.tables.grants import Grants

pytestmark = pytest.mark.anyio


class Described(LocalSandbox):
    """A local sandbox that says of itself what it is told to."""

    as_told: Description

    async def describe(self) -> Description:
        return self.as_told


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Described]:
    (tmp_path / "work").mkdir()
    one = Described(tmp_path / "work", home=tmp_path / "own", state=tmp_path / "own/run")
    one.as_told = Description("x", "Linux", str(tmp_path / "work"), confined=True, network="off")
    yield one
    await one.close()


@pytest.mark.parametrize(
    ("confined", "networked", "reach", "said"),
    [
        (True, False, "confined", "has no network"),
        (True, False, "network", "with the network"),
        (True, True, "confined", "with the network"),
        (False, False, "confined", "whatever you may do"),
        (False, True, "network", "whatever you may do"),
    ],
)
async def test_a_server_goes_as_far_as_its_sandbox_lets_commands_go(
    confined: bool, networked: bool, reach: str, said: str, sandbox: Described, tmp_path: Path
) -> None:
    sandbox.as_told = replace(sandbox.as_told, confined=confined, always_networked=networked)
    db = Database.open(tmp_path / "own")
    standing = JudgedConversation(
        new_conversation(wall_clock),
        OWNER,
        "local",
        str(tmp_path / "work"),
        address=lambda: TERMINAL,
        mode=lambda: Mode.EDIT,
        entries=tuple,
        approvers=owner_at(Address("terminal")),
    )
    judge = conversation_judge(load(tmp_path / "own", {}), standing, sandbox, Grants(db))
    verdict = await judge([UseServer("notes", "find", "notes", "server: notes", Trust.CONFIGURED, reach=reach)])
    assert isinstance(verdict, Ask)
    assert said in verdict.reason
    db.close()
