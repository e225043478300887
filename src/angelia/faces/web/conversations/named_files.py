"""What a message on the page names by an @: offered while it is typed, and sent with it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core import entry as e
from angelia.core.content import Content
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.ids import ConversationId
from angelia.faces.words.mentions import MentionableFile, MentionableFiles, mentioned_files, ranked
from angelia.path_queries import real_path
from angelia.sandboxes.port import Sandbox, SandboxGone
from angelia.sandboxes.registry import works_here
from angelia.service.conversation.named_resources import named_resources
from angelia.service.conversation.session import Session
from angelia.service.places.presets import kept

if TYPE_CHECKING:
    from angelia.service.app import App

MOST = 8
"""Names that are offered at a time."""


class NamedFiles:
    """Files of the workspace and what MCP servers serve, in the conversations of one home."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._last: tuple[Session | ConversationId, MentionableFiles] | None = None

    async def offered(self, session: Session, begun: str) -> Sequence[MentionableFile]:
        """Those that fit what is typed so far, best first."""
        at_hand = self._app.conversations
        files = MentionableFiles(
            lambda: Path(session.workspace),
            lambda: nullcontext(at_hand.sandbox_of(session)),
            lambda: at_hand.toolbox(session).servers.known_resources,
        )
        return await self._of(session, files, begun)

    async def offered_at_rest(
        self, conversation: ConversationId, opened: e.ConversationOpened, begun: str
    ) -> Sequence[MentionableFile]:
        """As `offered`, of one that nobody drives here and that nobody shall for this: the files of a folder of this
        machine. A place elsewhere is not opened for it, and no server is begun.
        """
        at = kept(self._app.loaded.config.sandbox, opened.sandbox, opened.preset)

        @asynccontextmanager
        async def looked_into() -> AsyncIterator[Sandbox]:
            if not works_here(at.spec, at.settings):
                raise SandboxGone("The conversation's sandbox is not open.", then="The next message opens it.")
            async with self._app.places.visited(conversation, Path(), lambda _: None) as (sandbox, _):
                yield sandbox

        files = MentionableFiles(lambda: Path(opened.workspace), looked_into)
        return await self._of(conversation, files, begun)

    async def _of(
        self, whose: Session | ConversationId, files: MentionableFiles, begun: str
    ) -> Sequence[MentionableFile]:
        if self._last is None or self._last[0] != whose:
            self._last = whose, files
        return ranked(begun, await self._last[1].offered())[:MOST]

    async def resources(self, session: Session, text: str) -> tuple[Content, ...]:
        """What MCP servers serve that a text names. It is somebody else's words.

        Raises:
            BadInput: something of it cannot be had.
        """
        named = await named_resources(text, self._app.conversations.toolbox(session).servers, self._app.intake)
        if named.missing:
            raise BadInput(" ".join(named.missing), then="Send it without its @, or try again.")
        return named.parts

    async def files(self, session: Session, text: str, model: str) -> tuple[Content, ...]:
        """The files of the workspace that a text names, where that is a folder of this machine; elsewhere a path is a
        word, and the model reads the file there. Nothing outside of the workspace is read for a page.

        Raises:
            BadInput: one of them cannot be sent.
        """
        folder = Path(session.workspace)
        at = kept(self._app.loaded.config.sandbox, session.sandbox, session.preset)
        if not works_here(at.spec, at.settings):
            return ()
        parts = list[Content]()
        for path in mentioned_files(text, folder):
            if not Path(real_path(path)).is_relative_to(real_path(folder)):
                raise BadInput(
                    f"{path.name} lies outside of {folder}.",
                    "Only files of the conversation's folder are named by an @.",
                )
            try:
                taken = await self._app.attachments.file(path, self._app.model_catalog.profile(model))
            except AngeliaError as error:
                raise BadInput(
                    f"{path.name} is not sent: {error}", then="Send it without its @, or try again."
                ) from None
            parts += taken.parts
        return tuple(parts)
