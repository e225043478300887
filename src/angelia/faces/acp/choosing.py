"""What holds for one session of an editor, what can be chosen in its place, and what a change takes."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.errors import AngeliaError, BadInput
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.faces.acp.editing import Editing
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
from angelia.service.choice import at_hand

if TYPE_CHECKING:
    from angelia.service.assemble import House
    from angelia.service.sessions import Session

Drive = Callable[[], Awaitable[None]]
"""Lets the conversation be driven with what was chosen; raises AngeliaError where that cannot be had."""


class _Choice(Struct, frozen=True):
    """What was chosen, apart from the mode."""

    spec: str
    effort: Effort
    sandbox: str
    files: bool
    terminal: bool


class Choosing:
    """`spec` is the model. `folder` is the client's, where the conversation works as far as it works on this machine.

    Raises:
        ConfigError: `spec` names no vendor or no model.
    """

    def __init__(self, house: "House", session: "Session", editing: Editing, spec: str, folder: Path) -> None:
        self._house, self._session, self._editing, self._folder = house, session, editing, folder
        self.spec = spec
        self.effort: Effort = house.loaded.config.effort
        self.window = house.seating.profile(spec).window
        session.around = self._around

    def _around(self, inner: Sandbox) -> Sandbox:
        """The editor stands before the machine itself; another sandbox's paths mean nothing to it."""
        return self._editing.around(inner) if self._session.sandbox == ANYWHERE else inner

    @property
    def setting(self) -> Setting:
        """What holds now."""
        house, session, editing = self._house, self._session, self._editing
        known = (*house.loaded.config.fallback, *at_hand(house.seating))
        here, can = session.sandbox == ANYWHERE, editing.client.capabilities
        return Setting(
            model=self.spec,
            profile=house.seating.profile(self.spec),
            effort=self.effort,
            mode=house.mode(session),
            models=models_to_choose(self.spec, known),
            sandbox=self._sandbox,
            sandboxes=self._sandboxes(),
            files=_by(editing.files) if here and (can.fs.read_text_file or can.fs.write_text_file) else "",
            commands=_by(editing.terminal) if here and can.terminal else "",
        )

    @property
    def _sandbox(self) -> str:
        return self._session.preset or self._session.sandbox

    def _sandboxes(self) -> tuple[str, ...]:
        """Those that can be chosen: any that is known by a name, until something was said; then the one it is."""
        settings = self._house.loaded.config.sandbox
        if self._session.log.entries:
            return (self._sandbox,)
        return tuple(dict.fromkeys((self._sandbox, settings.spec, ANYWHERE, *settings.presets)))

    def opened(self, session_id: str | None = None) -> r.SessionOpened:
        """What a client is told when it opens the session."""
        return r.SessionOpened(modes(self.setting), options(self.setting), session_id)

    def set_mode(self, name: str) -> None:
        """Raises BadInput for a mode that there is not."""
        if name not in {mode.value for mode in Mode}:
            raise BadInput(f"There is no mode {name[:50]!r}.", then=f"Modes: {', '.join(Mode)}.")
        self._house.set_mode(self._session, Mode(name))

    async def choose(self, name: str, value: str, drive: Drive) -> list[o.Update]:
        """Change one setting; returns what the client is to be told. What fails changes nothing.

        Raises:
            BadInput: no such setting or value, it cannot be changed any more, or a turn is running.
            KeyMissing, ConfigError, MissingPart, SandboxError: it cannot be used.
        """
        before, setting = self._choice(), self.setting
        match name:
            case "mode":
                self.set_mode(value)
                return [o.ModeIs(value)]
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
        await self._change(before, after, drive)
        return []

    async def _change(self, before: _Choice, after: _Choice, drive: Drive) -> None:
        if self._session.turn.opened:
            raise BadInput("A turn is running.", then="Stop it first, or wait for its end.")
        try:
            await self._take(after)
            await drive()
        except AngeliaError:
            await self._take(before)
            await drive()
            raise

    def _choice(self) -> _Choice:
        return _Choice(self.spec, self.effort, self._sandbox, self._editing.files, self._editing.terminal)

    async def _take(self, choice: _Choice) -> None:
        self._house.seating.profile(choice.spec)
        if choice.sandbox != self._sandbox:
            await self._house.rebegin(self._session, self._folder, choice.sandbox)
        self.spec, self.effort = choice.spec, choice.effort
        self._editing.files, self._editing.terminal = choice.files, choice.terminal


def _by(editor: object) -> str:
    return EDITOR if editor else SANDBOX
