"""A person's earlier messages, and the past before one of them, from which it is said otherwise in a fork."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.errors import BadInput
from angelia.core.principal import Principal
from angelia.core.text import one_line
from angelia.engine.state import Turn, advance

MOST_LISTED = 20


class EarlierMessage(Struct, frozen=True):
    """A message with which a turn began. `seq` is its entry; the one before is the last that a fork has of it."""

    seq: int
    parts: tuple[Content, ...]

    @property
    def words(self) -> str:
        """All that was said in it, on one line."""
        return one_line(" ".join(part.text for part in self.parts if isinstance(part, Text)), 70) or "(a file)"

    def saying(self, words: str) -> tuple[Content, ...]:
        """The same with other words; pictures and files stay."""
        return (Text(words), *(part for part in self.parts if not isinstance(part, Text)))


def earlier_messages(entries: Sequence[e.Entry], sender: Principal) -> tuple[EarlierMessage, ...]:
    """Theirs, the newest first. What was read in the midst of a turn is no place to begin anew, and left out."""
    turn, found = Turn(), []
    for entry in entries:
        fact = entry.fact
        if isinstance(fact, e.UserSaid) and fact.sender == sender and not turn.opened:
            found.append(EarlierMessage(entry.seq, fact.parts))
        turn = advance(turn, (entry,))
    return tuple(reversed(found))


def chosen_message(messages: Sequence[EarlierMessage], words: str) -> tuple[EarlierMessage, str]:
    """The message that `2 other words` names, the newest being 1, or `#12 other words` by its entry; and the words.

    Raises:
        BadInput: it names none, or says nothing.
    """
    number, _, said = words.partition(" ")
    if number.startswith("#"):
        at = next((at for at, one in enumerate(messages, 1) if f"#{one.seq}" == number), 0)
        if not at:
            raise BadInput(
                f"Entry {number[1:]} is no message of yours with which a turn began.", then="/edit lists them."
            )
        number = str(at)
    if not (number.isdecimal() and int(number)):
        raise BadInput("Which message should be said otherwise?", then="/edit lists them; /edit 1 OTHER WORDS.")
    if int(number) > len(messages):
        count = (
            f"Turns began with {len(messages)} of your messages"
            if messages
            else "No turn began with a message of yours"
        )
        raise BadInput(f"{count} here, and none of number {number}.", then="/edit lists them.")
    if not said.strip():
        raise BadInput(f"What should it say instead of “{messages[int(number) - 1].words}”?")
    return messages[int(number) - 1], said.strip()
