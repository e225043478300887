"""What `/api` answers, as its OpenAPI document says it and its client gives it.

What a later version adds is left out. Times are Unix milliseconds, money is millionths of a US dollar.
"""

from typing import Any

from msgspec import Struct


class SpentMoney(Struct, frozen=True):
    """What was spent; `cost` is -1 where nothing is known of it. `unpriced` are the requests whose price is unknown."""

    cost: int
    tokens: int
    unpriced: int = 0


class HomeState(Struct, frozen=True):
    """The home at a glance; `model` is empty where none can be had."""

    version: str
    model: str
    mode: str
    zone: str
    doors: list[str]
    presets: list[str]
    sandbox: str
    spent_today: SpentMoney
    day_cost: int
    max_bytes: int


class ListedConversation(Struct, frozen=True):
    """A conversation in a list: whether a turn is `open`, and how many questions wait."""

    id: str
    title: str
    opened_at: int
    last_at: int
    last_seq: int
    door: str
    folder: str
    sandbox: str
    owner: str
    open: bool = False
    waits: int = 0


class ConversationList(Struct, frozen=True):
    """Conversations, the newest first; `more` is the `before` of the next ones, empty for none."""

    conversations: list[ListedConversation]
    more: str = ""


class FoundEntry(Struct, frozen=True):
    """An entry that was searched for."""

    conversation: str
    title: str
    door: str
    seq: int
    at: int
    line: str


class FoundEntries(Struct, frozen=True):
    """What a search found, the best first."""

    found: list[FoundEntry]


class ListedQuestion(Struct, frozen=True):
    """A question that waits for a person; an answer names `call` and `digest`. `whole` is all that a yes would be to.

    `conversation` and `title` are set in the list of all that waits. There one whose entry is damaged has `unreadable`
    as `asks`, says why, and cannot be answered.
    """

    call: str
    digest: str
    question: str
    seq: int
    at: int
    why: str = ""
    whole: str = ""
    pattern: str = ""
    choices: list[str] = []
    asks: str = "permission"
    expires: int = 0
    conversation: str = ""
    title: str = ""
    door: str = ""


class ListedQuestions(Struct, frozen=True):
    """All that waits, oldest first."""

    questions: list[ListedQuestion]


class TurnState(Struct, frozen=True):
    """Whether a turn is open, since when, at which step, and what it cost so far. `program` are the tools of a
    program's own for whose results alone it waits. `left_open`: the process that worked on it has died, and nobody
    goes on with it until somebody asks for that.
    """

    open: bool
    since: int
    steps: int
    left_open: bool = False
    program: list[str] = []
    spent: SpentMoney = SpentMoney(0, 0)


class ConversationState(Struct, frozen=True):
    """Where one conversation stands; `trouble` says why it is not driven, and is empty where it is."""

    id: str
    title: str
    door: str
    folder: str
    sandbox: str
    owner: str
    opened_at: int
    last_seq: int
    model: str
    mode: str
    turn: TurnState
    questions: list[ListedQuestion]
    spent: SpentMoney
    trouble: str = ""


class EntryList(Struct, frozen=True):
    """Entries in order; `first` is the `before` of those that come before them, 0 for none. Each has `seq`, `at` and
    `kind`, and what its kind says (`angelia docs reference/entries`).
    """

    entries: list[dict[str, Any]]
    first: int = 0


class BegunConversation(Struct, frozen=True):
    """The id of a new conversation."""

    id: str


class StoredMessage(Struct, frozen=True):
    """What became of a message: whether it is stored, and whether it is `new`, or was sent before."""

    stored: bool = False
    new: bool = False


class TakenBackMessage(Struct, frozen=True):
    """What it said, and the names of files that came with it and are not named in its words by an @: to say it anew,
    they are brought again.
    """

    text: str
    files: list[str]


class StoredUpload(Struct, frozen=True):
    """A file that was brought; a message names it by its id."""

    id: str
    name: str
    size: int
    kind: str
    mime: str


class ResumedTurn(Struct, frozen=True):
    """Whether there was something to go on with."""

    resumed: bool


class StoppedTurn(Struct, frozen=True):
    """Whether a turn was there to be stopped."""

    stopped: bool


class ApiEvent(Struct, frozen=True):
    """What a stream tells. `entry` has the entry, and its number as `seq`; `state` where the conversation stands;
    `live` what is being written, which is in no log; `beat` that there is nothing.
    """

    name: str
    data: dict[str, Any]
    seq: int = 0
