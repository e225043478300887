"""What goes out with the next message besides its words: files that were attached, and what it names by an @."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.content import Content
from angelia.core.errors import BadInput
from angelia.core.profile import Profile
from angelia.faces.cli.chat.screen import Screen
from angelia.faces.words.taken_back import name_of
from angelia.sandboxes.registry import ELSEWHERE, works_here
from angelia.service.conversation.session import Session

if TYPE_CHECKING:
    from angelia.service.app import App


class MessageParts:
    """Held from one message to the next: `attached` in the order in which it came, and the `names` that are shown."""

    def __init__(
        self, app: "Callable[[], App]", session: Callable[[], Session], profile: Callable[[], Profile], screen: Screen
    ) -> None:
        self.attached: list[Content] = []
        self.names: list[str] = []
        self._app, self._session = app, session
        self._profile, self._screen = profile, screen

    async def attach(self, path: Path, *, picture: bool = False, original: bool = False) -> None:
        """Look at a file now, and send it with the next message; an `original` picture keeps its size.

        Raises:
            BadInput: it cannot be attached; says why.
        """
        attachments = self._app().attachments
        take = attachments.image if picture else attachments.file
        taken = await take(path.expanduser(), self._profile(), as_is=original)
        self.attached.extend(taken.parts)
        self.names.append(path.name)
        for note in taken.notes:
            self._screen.note(note)

    async def attach_mentioned(self, text: str) -> None:
        """Attach the files that a message names by an @; of one that cannot be it is said, and the words go on. Where
        the workspace is not a folder of this machine a path is a word: the model reads the file there.
        """
        from angelia.faces.words.mentions import mentioned_files
        from angelia.service.places.presets import kept

        session = self._session()
        at = kept(self._app().loaded.config.sandbox, session.sandbox, session.preset)
        for path in mentioned_files(text, folder_of(session)) if works_here(at.spec, at.settings) else ():
            try:
                await self.attach(path)
            except BadInput as error:
                self._screen.warn(f"Not attached: {error}")

    async def served(self, text: str) -> tuple[Content, ...]:
        """What MCP servers serve that a message names by an @; what cannot be had is told, and the words go on."""
        from angelia.service.conversation.named_resources import named_resources

        app = self._app()
        named = await named_resources(text, app.conversations.toolbox(self._session()).servers, app.intake)
        for why in named.missing:
            self._screen.warn(f"Not attached: {why}")
        return named.parts

    def put_back(self, parts: Sequence[Content]) -> None:
        """What a message had that was taken back, before what was attached since."""
        self.attached[:0] = parts
        self.names[:0] = [name_of(part) for part in parts]

    def let_go(self) -> None:
        """Nothing is attached any more."""
        self.attached.clear()
        self.names.clear()


def folder_of(session: Session) -> Path:
    """The folder of this machine that a conversation is about: where it works, or where we are if elsewhere."""
    return Path.cwd() if session.sandbox.partition(":")[0] in ELSEWHERE else Path(session.workspace)
