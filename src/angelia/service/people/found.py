"""What a home holds of a person: the conversations that are theirs, and what of others' is."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.service.people.theirs import Theirs, speakers, theirs
from angelia.store.log.transcript import Transcript
from angelia.store.tables.people import KnownPeople


class SharedPart(Struct, frozen=True):
    """A conversation in which others spoke, too, and what of it is theirs."""

    conversation: ConversationId
    theirs: Theirs


class Counts(Struct, frozen=True):
    """How much there is: `own` are conversations of theirs alone, with so many `entries`; `shared` those in which
    others spoke, too, with `said` entries of theirs and `answered` in turns where they alone were heard. `mixed` counts
    the turns in which others were heard as well: what was answered there stays.
    """

    own: int = 0
    entries: int = 0
    shared: int = 0
    said: int = 0
    answered: int = 0
    mixed: int = 0


class FoundPerson(Struct, frozen=True):
    """Where somebody is."""

    own: tuple[ConversationId, ...]
    shared: tuple[SharedPart, ...]
    counts: Counts

    @property
    def unfinished(self) -> tuple[ConversationId, ...]:
        """The shared ones in which a turn of theirs is open, or something on its way to them."""
        return tuple(one.conversation for one in self.shared if one.theirs.open)


async def find_person(transcript: Transcript, people: KnownPeople, who: Principal) -> FoundPerson:
    """Look through the whole log for somebody.

    Raises:
        StoreDamaged, CodecError: a conversation that names them cannot be read.
    """
    own, shared, entries = list[ConversationId](), list[SharedPart](), 0
    for conversation in await people.named(who):
        log = await transcript.entries(conversation)
        if is_own(log, who):
            own.append(conversation)
            entries += len(log)
        else:
            shared.append(SharedPart(conversation, theirs(log, who)))
    parts = [one.theirs for one in shared]
    said, answered = (sum(len(some) for some in column) for column in _columns(parts))
    counts = Counts(len(own), entries, len(shared), said, answered, sum(one.mixed for one in parts))
    return FoundPerson(tuple(own), tuple(shared), counts)


def is_own(log: Sequence[e.Entry], who: Principal) -> bool:
    """Whether a conversation is somebody's alone: it belongs to them, and nobody else spoke in it; or it is what they
    have in a group where everybody has their own.
    """
    opened = log[0].fact
    personal = any(isinstance(entry.fact, e.DoorMoved) and entry.fact.person == who for entry in log)
    return personal or (isinstance(opened, e.ConversationOpened) and opened.owner == who and speakers(log) <= {who})


def _columns(parts: Sequence[Theirs]) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    return [one.said for one in parts], [one.answered for one in parts]
