"""What the chats need of an open home: its stores, and what opens conversations."""

from pathlib import Path

from msgspec import Struct

from angelia.core.ids import Clock
from angelia.service.command_port import CommandServices
from angelia.service.conversation.conversations import Conversations
from angelia.service.models.catalog import ModelCatalog
from angelia.service.people.admission import Admission
from angelia.service.people.budgets import Budgets
from angelia.service.settings.config import Config
from angelia.service.settings.tokens import Tokens
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake
from angelia.store.media.renditions import Renditions
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.outbox import Outbox


class ChatServices(Struct, frozen=True):
    """What channels, chats and delivery work with. `admission` says who may speak and as what, `doors` which
    conversation a chat is in.
    """

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
    admission: Admission
    budgets: Budgets
    key_value: KeyValue
    model_catalog: ModelCatalog
    tokens: Tokens
    commands: CommandServices
