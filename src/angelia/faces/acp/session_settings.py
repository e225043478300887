"""What holds for one session of an editor, what can be chosen in its place, and what a change takes."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.errors import AngeliaError, BadInput
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.faces.acp.editor_sandbox import Editing
from angelia.faces.acp.settings import (
    ANYWHERE,
    EDITOR,
    EFFORTS,
    SANDBOX,
    Effort,
    Setting,
    models_to_choose,
    modes,
    options,
)
from angelia.policy.situation import Mode
from angelia.sandboxes.port import Sandbox
from angelia.service.models.choice import at_hand

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session

Drive = Callable[[], Awaitable[None]]
"""Lets the conversation be driven with what was chosen; raises AngeliaError where that cannot be had."""


class _Choice(Struct, frozen=True):
    """What was chosen, apart from the mode."""

    spec: str
    effort: Effort
    sandbox: str
    files: bool
    terminal: bool


class SessionSettings:
    """`spec` is the model. `folder` is the client's, where the conversation works as far as it works on this machine.

    Raises:
        ConfigError: `spec` names no vendor or no model.
    """

    def __init__(self, app: "App", session: "Session", editing: Editing, spec: str, folder: Path) -> None:
        self._app = app
        self._session = session
        self._editing = editing
        self._folder = folder
        self.spec = spec
        self.effort: Effort = app.loaded.config.effort
        self._next: _Choice | None = None
        self._told: tuple[o.AcpOption, ...] = ()
        self.window = app.model_catalog.profile(spec).window
        session.around = self._around

    def _around(self, inner: Sandbox) -> Sandbox:
        """The editor stands before the machine itself; another sandbox's paths mean nothing to it."""
        return self._editing.around(inner) if self._session.sandbox == ANYWHERE else inner

    @property
    def setting(self) -> Setting:
        """What holds now, or from the next turn on where a running one is in the way."""
        app, session, editing = self._app, self._session, self._editing
        chosen = self._chosen
        known = (*app.loaded.config.fallback, *at_hand(app.model_catalog))
        here, can = session.sandbox == ANYWHERE, editing.client.capabilities
        return Setting(
            model=chosen.spec,
            profile=app.model_catalog.profile(chosen.spec),
            effort=chosen.effort,
            mode=app.modes.of(session),
            models=models_to_choose(chosen.spec, known),
            sandbox=self._sandbox,
            sandboxes=self._sandboxes(),
            files=_by(chosen.files) if here and (can.fs.read_text_file or can.fs.write_text_file) else "",
            commands=_by(chosen.terminal) if here and can.terminal else "",
        )

    @property
    def _sandbox(self) -> str:
        return self._session.preset or self._session.sandbox

    def _sandboxes(self) -> tuple[str, ...]:
        """Those that can be chosen: any that is known by a name, until something was said; then the one it is."""
        settings = self._app.loaded.config.sandbox
        if self._session.log.entries:
            return (self._sandbox,)
        return tuple(dict.fromkeys((self._sandbox, settings.spec, ANYWHERE, *settings.presets)))

    def opened(self, session_id: str | None = None) -> r.SessionOpened:
        """What a client is told when it opens the session."""
        return r.SessionOpened(modes(self.setting), self.options(), session_id)

    def options(self) -> tuple[o.AcpOption, ...]:
        """All settings, as the client is told them now."""
        self._told = options(self.setting)
        return self._told

    def news(self) -> list[o.Update]:
        """The settings, where they are not what the client was told last."""
        before = self._told
        return [] if self.options() == before else [o.OptionsAre(self._told)]

    def set_mode(self, name: str) -> None:
        """From the next call on. Raises BadInput for a mode that there is not."""
        if name not in {mode.value for mode in Mode}:
            raise BadInput(f"There is no mode {name[:50]!r}.", then=f"Modes: {', '.join(Mode)}.")
        self._app.modes.choose(self._session, Mode(name))

    async def choose(self, name: str, value: str, drive: Drive) -> list[str]:
        """Change one setting other than the mode; returns what the person is to be told. What fails changes nothing.

        While a turn is open, it goes on as it began, and the next one is begun with the change.

        Raises:
            BadInput: no such setting or value, or it cannot be changed any more.
            KeyMissing, ConfigError, MissingPart, SandboxError: it cannot be used.
        """
        before, setting = self._chosen, self.setting
        match name:
            case "model":
                after = replace(before, spec=value)
            case "thinking" if value in EFFORTS:
                after = replace(before, effort="" if value == "default" else value)
            case "sandbox":
                after = replace(before, sandbox=value)
            case "files" if setting.files and value in (EDITOR, SANDBOX):
                after = replace(before, files=value == EDITOR)
            case "commands" if setting.commands and value in (EDITOR, SANDBOX):
                after = replace(before, terminal=value == EDITOR)
            case _:
                raise BadInput(f"There is no setting {name[:50]!r} with the value {value[:50]!r}.")
        if not self._session.turn.opened:
            await self._change(after, drive)
            return []
        if after.sandbox != self._sandbox:
            raise BadInput("The sandbox is part of the conversation.", then="Begin a new one for another sandbox.")
        self._app.model_catalog.profile(after.spec)
        self._next = after
        return [f"The running turn goes on as it began; the new setting ({name}) holds for what you say after it."]

    async def begin(self, drive: Drive) -> None:
        """Before something is said: what was chosen during a turn holds, once that is over.

        Raises:
            KeyMissing, ConfigError, MissingPart, SandboxError: it cannot be used; what held before does so again.
        """
        if self._next and not self._session.turn.opened:
            await self._change(self._next, drive)

    async def _change(self, after: _Choice, drive: Drive) -> None:
        before, self._next = self._choice(), None
        try:
            await self._take(after)
            await drive()
        except AngeliaError:
            await self._take(before)
            await drive()
            raise

    @property
    def _chosen(self) -> _Choice:
        return self._next or self._choice()

    def _choice(self) -> _Choice:
        return _Choice(self.spec, self.effort, self._sandbox, self._editing.files, self._editing.terminal)

    async def _take(self, choice: _Choice) -> None:
        self._app.model_catalog.profile(choice.spec)
        if choice.sandbox != self._sandbox:
            await self._app.conversations.rebegin(self._session, self._folder, choice.sandbox)
        self.spec, self.effort = choice.spec, choice.effort
        self._editing.files, self._editing.terminal = choice.files, choice.terminal


def _by(editor: object) -> str:
    return EDITOR if editor else SANDBOX
