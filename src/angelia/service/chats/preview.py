"""An answer that is still being written, as far as a chat has seen it."""

from math import inf

from angelia.channels.capabilities import Capabilities
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.growing import whole_so_far
from angelia.channels.markup.renderer import render_within
from angelia.channels.outgoing import OutText
from angelia.context.media_lines import while_written
from angelia.core.entry import Address
from angelia.core.ids import ConversationId, DeliveryId
from angelia.store.tables.outbox import Progress

MORE = " …"
"""Stands at the end of a message that grows; a draft has none, since nobody takes it for the answer."""


class Preview:
    """What a chat may be shown before the answer is there; shown by the chat's one writer, at its own pace.

    `delivery` is the one that will bring the answer. Words come in many small pieces and are joined when they are
    looked at. `shown` is what the chat has seen, `message` the network's id of it, empty before the first showing and
    where the network shows drafts: then it has to be shown again at `fades`, in milliseconds
    of a clock that nobody sets; a message never fades.
    """

    def __init__(
        self, conversation: ConversationId, delivery: DeliveryId, address: Address, reply_to: str = ""
    ) -> None:
        self.conversation, self.delivery = conversation, delivery
        self.address, self.reply_to = address, reply_to
        self.shown, self.message = "", ""
        self.fades = inf
        self.given_up = False
        self._pieces: list[str] = []
        self._progress = self._far = ""

    def write(self, text: str) -> None:
        """Some more of the reply."""
        self._far = ""
        self._pieces.append(text)

    def how_far(self, text: str) -> None:
        """How far a call is that takes long, beneath what was said along with it; empty once it is over."""
        self._far = text.strip()

    def cut(self, progress: str = "") -> None:
        """The reply ended without being the answer: `progress` is what it said along with its calls, if anything."""
        self._pieces.clear()
        self._progress = progress or self._progress

    def take_up(self, progress: Progress) -> None:
        """What an earlier life had shown; where nobody knows its id, and where the answer is or may be there, none is
        begun: the answer would stand there twice, once as the preview that became it.
        """
        self.message = progress.preview or ""
        self.given_up = progress.preview == "" or bool(progress.arrived) or any(progress.doubts.values())

    def words(self, limit: int) -> str:
        """What the chat would see now, at most `limit` long, without lines that name files; empty for nothing.

        >>> draft = Preview(ConversationId("c"), DeliveryId("c.t1"), Address("telegram", "7"))
        >>> draft.write("One moment")
        >>> draft.words(100), draft.words(6)
        ('One moment', 'One mo')
        """
        self._pieces = ["".join(self._pieces)]
        said = self._pieces[0].strip() or "\n\n".join(part for part in (self._progress.strip(), self._far) if part)
        return while_written(said[:limit]).strip()


def as_it_grows(words: str, dialect: Dialect, capabilities: Capabilities, end: str = "") -> OutText | None:
    """What a chat is shown of words that are still being written, in its markup; None while there is nothing to see."""
    limit = capabilities.text_limit - len(end.encode())
    found = render_within(whole_so_far(words), dialect, limit, capabilities.units)
    return OutText(found[0].plain + end, found[0].marked + end) if found else None
