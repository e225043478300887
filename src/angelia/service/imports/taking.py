"""Where what was found goes, and what came of it."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.ids import ConversationId, sortable_id
from angelia.core.principal import Principal
from angelia.service.audit import Audit
from angelia.service.secrets.store import SecretStore
from angelia.store.log.repeats import imports_of
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake
from angelia.store.port import LogStore
from angelia.store.tables.notes import Notes


class ImportTarget(Struct, frozen=True):
    """A home of ours. `opened` is how a conversation of that door and person begins, in a folder if it may work there.

    `mine` are people of the old home (`door:id`) who are its owner here; the conversations of all others are left, or
    taken as theirs with `people`. With `dry` nothing is written.
    """

    home: Path
    transcript: Transcript
    db: LogStore
    notes: Notes
    blobs: BlobStore
    intake: Intake
    secrets: SecretStore
    audit: Audit
    opened: Callable[[str, Principal, str], e.ConversationOpened]
    redact: Callable[[str], str]
    mine: frozenset[str] = frozenset()
    people: bool = False
    dry: bool = False

    async def imports(self, conversation: ConversationId) -> list[e.Imported]:
        """What was imported into a conversation before."""
        return await self.db.read(lambda connection: imports_of(connection, conversation))


class TakenFrom(Struct, frozen=True):
    """A file of an old home: which agent's, the path within the home, and the profile that it is of."""

    agent: str
    file: str
    profile: str = ""

    def conversation(self, record: str) -> ConversationId:
        """The id under which a record of it stands here: the same in each run, and from each copy."""
        digest = sha256("\0".join((self.agent, self.profile, record)).encode("utf-8", "surrogateescape")).digest()
        return ConversationId(sortable_id(lambda: 0, lambda size: digest[:size]))


class TakenItem(Struct, frozen=True):
    """Something is here now, or would be: so many of `what`, in the singular. `messages` and `pictures` are those of
    conversations; `left` says what of them was not taken, and why.
    """

    what: str
    count: int = 1
    messages: int = 0
    pictures: int = 0
    left: tuple[str, ...] = ()


class KnownItem(Struct, frozen=True):
    """It was here already."""


class LeftItem(Struct, frozen=True):
    """It was left; says why."""

    why: str


TakingOutcome = TakenItem | KnownItem | LeftItem
