"""What the chats need of an open home: its stores, and what opens conversations."""

from pathlib import Path
from typing import Protocol

from msgspec import Struct

from angelia.core.ids import Clock, ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.engine.driver import BoundModel
from angelia.policy.approvers import ApproversOf
from angelia.service.command_port import CommandServices
from angelia.service.conversation.session import Session
from angelia.service.models.catalog import ModelCatalog
from angelia.service.settings.config import Config
from angelia.service.settings.tokens import Tokens
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake
from angelia.store.media.renditions import Renditions
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.outbox import Outbox
from angelia.store.tables.pairings import Pairings


class Conversations(Protocol):
    """What opens conversations, has them driven, and closes them.

    Raises:
        SandboxError, ConfigError: one cannot be had as configured.
        NotFound, CodecError: a stored one is not there, or cannot be read.
    """

    def begin(self, *, door: str, workspace: Path, sandbox: str = "", owner: Principal = OWNER) -> Session:
        """A new one; it is in the store from its first entry on."""
        ...

    async def resume(self, conversation: ConversationId, *, door: str) -> Session:
        """A stored one."""
        ...

    async def employ(self, session: Session, model: str, *, approvers: ApproversOf) -> BoundModel:
        """Give one its model, tools and sandbox, and drive it from now on."""
        ...

    async def leave(self, session: Session) -> None:
        """Stop driving one; an open turn stays open in the log."""
        ...


class ChatServices(Struct, frozen=True):
    """What channels, chats and delivery work with. `doors` says which conversation a chat is in."""

    home: Path
    config: Config
    clock: Clock
    conversations: Conversations
    transcript: Transcript
    blobs: BlobStore
    intake: Intake
    renditions: Renditions
    outbox: Outbox
    doors: ChatBindings
    pairings: Pairings
    key_value: KeyValue
    model_catalog: ModelCatalog
    tokens: Tokens
    commands: CommandServices
