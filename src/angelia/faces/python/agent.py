"""`Agent`: an open home, for a program that asks; what it opens is closed at the end of its `async with`."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.faces.python.answers import Answer
from angelia.faces.python.conversation import Conversation
from angelia.faces.python.questions import Approve
from angelia.faces.python.turn_stream import TurnStream
from angelia.service.settings.config import home_folder, load
from angelia.tools.port import Tool

if TYPE_CHECKING:
    from angelia.service.app import App

DOOR = "python"


class Agent:
    """An agent that works in `workspace` with `model` (`vendor:name`; as configured, or found, if it is empty).

    Without `workspace` it has a folder of its own, beside its home. One from which this program imports is refused.

    `tools` are functions with `@angelia.tool`, or values of `angelia.tools.port.Tool`, beside those that there always
    are. `home` is the folder with settings, conversations and permissions: `ANGELIA_HOME`, else `~/.angelia`.
    `settings` are any of `angelia config`, by their dotted names, for this agent alone. `approve` answers what needs
    a yes; without one, that is refused, and the model is told so.

        async with Agent(model="anthropic:claude-sonnet-5-5", workspace="garden") as agent:
            print(await agent.ask("Which bed brought more?", files=["harvest.csv"]))
    """

    def __init__(
        self,
        *,
        model: str = "",
        tools: Sequence[Tool] = (),
        workspace: str | Path = "",
        home: str | Path = "",
        settings: Mapping[str, Any] | None = None,
        approve: Approve | None = None,
    ) -> None:
        self._model = model
        self._tools = tuple(tools)
        self._approve = approve
        self._home = Path(home).expanduser().absolute() if home else home_folder()
        self._workspace = Path(workspace).expanduser().absolute() if workspace else None
        self._settings = dict(settings or {})
        self._open: App | None = None

    async def __aenter__(self) -> Self:
        """Open the home.

        Raises:
            ConfigError: a setting is wrong, or two tools have one name; a function among them is no tool.
            StoreError: the home cannot be read or written.
        """
        import os

        from angelia.service.app import App
        from angelia.tools.discovery import default_registry
        from angelia.tools.function_tool import given_tools

        given = given_tools(self._tools, default_registry(self._home).names) if self._tools else ()
        flags = {**self._settings, **({"model": self._model} if self._model else {})}
        loaded = load(self._home, os.environ, flags=flags)
        self._open = await App.open(loaded, dict(os.environ), tools=given)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        app, self._open = self._open, None
        if app:
            try:
                await app.upkeep.tidy()
            finally:
                await app.close()

    @asynccontextmanager
    async def conversation(self, id: str = "") -> AsyncIterator[Conversation]:  # noqa: A002 - it is one
        """A new conversation, or the one of this id, or of its last characters.

        Raises:
            NotFound, BadInput: there is none of this id, or there are several.
            StoreDamaged, CodecError: it cannot be read; says where.
            AccessRefused: no conversation works in the workspace, such as one from which this program imports.
        """
        from angelia.service.models.choice import choose

        app = self._app
        if id:
            session = await app.conversations.resume(await app.transcript.find(OWNER, id), door=DOOR)
        else:
            session = app.conversations.begin(door=DOOR, workspace=self._workspace or self._own_folder())
        choice = await choose(app.loaded.config.model, app.model_catalog, app.key_value, None)
        async with Conversation(app, session, choice, self._approve) as opened:
            yield opened

    async def ask(self, question: str, *, files: Iterable[str | Path] = (), conversation: str = "") -> Answer:
        """Ask in a conversation of its own, or go on with one by its id; see `Conversation.ask`.

        Raises:
            As `Agent.conversation` and `Conversation.ask`.
        """
        async with self.conversation(conversation) as talk:
            return await talk.ask(question, files=files)

    @asynccontextmanager
    async def stream(
        self, question: str, *, files: Iterable[str | Path] = (), conversation: str = ""
    ) -> AsyncIterator[TurnStream]:
        """As `ask`, and watch the turn; see `Conversation.stream`."""
        async with self.conversation(conversation) as talk, talk.stream(question, files=files) as turn:
            yield turn

    def _own_folder(self) -> Path:
        from angelia.sandboxes.workspace import work_folder

        folder = work_folder(self._home) / DOOR
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @property
    def _app(self) -> "App":
        if self._open is None:
            raise BadInput("The agent is not open.", then="Use it within `async with Agent(…) as agent:`.")
        return self._open
