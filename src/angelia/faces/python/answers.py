"""What a turn came to, for the program that asked: an answer, or an exception that says how it ended."""

from msgspec import Struct

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.errors import AngeliaError
from angelia.core.ids import ConversationId
from angelia.core.sentences import sentence
from angelia.faces.words.program_delivery import SentFile


class Answer(Struct, frozen=True):
    """The model's answer; every other ending of a turn is a `NotAnswered`, so nothing else can be taken for one.

    `notes` are sentences that a person at a terminal would have read besides, such as that a picture went out smaller.
    `usage` sums the tokens of the turn. `cost` is US dollars, None where the price of a reply is unknown.
    """

    text: str
    conversation: ConversationId
    model: str
    files: tuple[SentFile, ...] = ()
    notes: tuple[str, ...] = ()
    usage: e.Usage = e.Usage()
    cost: float | None = 0.0

    def __str__(self) -> str:
        return self.text


class NotAnswered(AngeliaError):
    """The turn ended, and not with an answer; the conversation is kept, and can be gone on with by its id.

    `ending` is one of `angelia.endings`; `files`, `notes`, `usage` and `cost` are as in `Answer`.
    """

    def __init__(self, ending: end.Ending, spent: Answer) -> None:
        self.ending = ending
        self.conversation, self.model = spent.conversation, spent.model
        self.files, self.notes = spent.files, spent.notes
        self.usage, self.cost = spent.usage, spent.cost
        super().__init__(sentence(ending))
