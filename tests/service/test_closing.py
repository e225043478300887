"""A home is closed whole, whatever of it cannot be closed."""

from pathlib import Path

import pytest

from angelia.core.content import Text
from angelia.core.entry import Address
from angelia.core.errors import StoreClosed
from angelia.policy.approvers import owner_at
from angelia.service.app import App
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.toolbox import Toolbox
from angelia.service.models.catalog import ModelCatalog
from angelia.service.settings.config import load

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("at", ["_leave_place", "_leave_tools"])
async def test_a_conversation_that_cannot_be_left_keeps_nothing_else_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    (tmp_path / "work").mkdir()
    app = await App.open(load(tmp_path / "home", {"OPENAI_API_KEY": "sk-test"}), {"OPENAI_API_KEY": "sk-test"})
    for _ in range(2):
        session = app.conversations.begin(door="terminal", workspace=tmp_path / "work")
        await session.say([Text("hi")], address=Address("terminal"))
        await app.conversations.employ(session, "openai-chat:test", approvers=owner_at(Address("terminal")))
    places, tools, catalogs = list[object](), list[Toolbox](), list[ModelCatalog]()
    leave_place, close_tools, close_models = Conversations._leave_place, Toolbox.close, ModelCatalog.close

    async def place_left(self: Conversations, opened: object) -> None:
        places.append(opened)
        await leave_place(self, opened)  # type: ignore[arg-type]

    async def tools_closed(self: Toolbox) -> None:
        tools.append(self)
        await close_tools(self)

    async def models_closed(self: ModelCatalog) -> None:
        catalogs.append(self)
        await close_models(self)

    monkeypatch.setattr(Conversations, "_leave_place", place_left)
    monkeypatch.setattr(Toolbox, "close", tools_closed)
    monkeypatch.setattr(ModelCatalog, "close", models_closed)
    done = getattr(Conversations, at)

    async def fails(self: Conversations, opened: object) -> None:
        await done(self, opened)
        raise OSError("it hangs on something")

    monkeypatch.setattr(Conversations, at, fails)
    with pytest.raises(OSError, match="it hangs on something"):
        await app.close()
    assert (len(places), len(tools), len(catalogs)) == (2, 2, 1)
    assert not app.conversations.sessions
    with pytest.raises(StoreClosed):
        await app.db.read(lambda connection: connection.execute("SELECT 1").fetchone())
