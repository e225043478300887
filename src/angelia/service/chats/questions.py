"""Questions to a person in a chat: buttons bound to a call and its arguments, and what a press means."""

from typing import assert_never

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.errors import BadInput
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.core.principal import Principal

QUESTION = "question"
"""The origin of a delivery that asks something."""

_BOUND = 8
"""Characters of a digest that a button carries: 64 bytes are all that a network gives it."""


class QuestionAnswer(Struct, frozen=True):
    """An answer to a call's question; `choice` is the number of one of its choices, -1 for a permission."""

    conversation: ConversationId
    call: CallId
    digest: str
    yes: bool
    lasting: bool = False
    choice: int = -1


class MessageStillWanted(Struct, frozen=True):
    """Whether the message that was set aside as entry `seq` is still wanted."""

    conversation: ConversationId
    seq: int
    yes: bool


class LetIn(Struct, frozen=True):
    """Whether somebody unknown is let in."""

    who: Principal
    yes: bool


Meaning = QuestionAnswer | MessageStillWanted | LetIn


def value_of(meaning: Meaning) -> str:
    """What a button carries; `meaning_of` reads it.

    >>> value_of(LetIn(Principal("telegram", "4711"), True))
    'l:y:telegram:4711'
    """
    match meaning:
        case QuestionAnswer():
            return f"q:{_letter(meaning)}:{meaning.conversation}:{meaning.call}:{meaning.digest[:_BOUND]}"
        case MessageStillWanted(conversation=conversation, seq=seq, yes=yes):
            return f"w:{'y' if yes else 'n'}:{conversation}:{seq}"
        case LetIn(who=who, yes=yes):
            return f"l:{'y' if yes else 'n'}:{who}"
        case _:
            assert_never(meaning)


def _letter(answered: QuestionAnswer) -> str:
    if answered.choice >= 0:
        return str(answered.choice)
    if not answered.yes:
        return "n"
    return "a" if answered.lasting else "y"


def meaning_of(value: str) -> Meaning | None:
    """What a button of ours means; None for anything else.

    >>> meaning_of("l:n:telegram:4711")
    LetIn(who=Principal(door='telegram', id='4711'), yes=False)
    >>> meaning_of("something") is None
    True
    """
    match value.split(":"):
        case ["q", kind, conversation, call, digest] if kind in {"y", "a", "n"} or kind.isdecimal():
            choice = int(kind) if kind.isdecimal() else -1
            return QuestionAnswer(
                ConversationId(conversation), CallId(call), digest, kind != "n", lasting=kind == "a", choice=choice
            )
        case ["w", yes, conversation, seq] if seq.isdecimal():
            return MessageStillWanted(ConversationId(conversation), int(seq), yes == "y")
        case ["l", yes, door, *own] if own:
            return _let_in(":".join((door, *own)), yes == "y")
        case _:
            return None


def _let_in(text: str, yes: bool) -> LetIn | None:
    try:
        return LetIn(Principal.parse(text), yes)
    except BadInput:
        return None


def choices_of(conversation: ConversationId, asked: e.ApprovalAsked) -> tuple[e.QuestionChoice, ...]:
    """The buttons beneath a question."""
    bound = QuestionAnswer(conversation, asked.call, asked.digest[:_BOUND], yes=True)
    if asked.asks is e.QuestionKind.CHOICE:
        return tuple(
            e.QuestionChoice(
                label, value_of(QuestionAnswer(conversation, asked.call, asked.digest, yes=True, choice=number))
            )
            for number, label in enumerate(shown_question(asked).choices)
        )
    lasting = QuestionAnswer(conversation, asked.call, asked.digest, yes=True, lasting=True)
    refused = QuestionAnswer(conversation, asked.call, asked.digest, yes=False)
    always = (e.QuestionChoice("Allow in this conversation", value_of(lasting)),) if asked.pattern else ()
    return (e.QuestionChoice("Allow once", value_of(bound)), *always, e.QuestionChoice("No", value_of(refused)))


def question_id(conversation: ConversationId, asked: e.ApprovalAsked) -> DeliveryId:
    """The id of the delivery that asks this question."""
    return DeliveryId(f"{conversation}.q{asked.call}.{asked.digest[:_BOUND]}")


def fits(answered: QuestionAnswer, asked: e.ApprovalAsked) -> bool:
    """Whether an answer is to this very question, with these very arguments."""
    return answered.call == asked.call and asked.digest.startswith(answered.digest) and len(answered.digest) >= _BOUND


def answer_fact(answered: QuestionAnswer, asked: e.ApprovalAsked, by: Principal) -> e.ApprovalGiven | e.ApprovalRefused:
    """What the log says of an answer that fits."""
    if not answered.yes:
        return e.ApprovalRefused(asked.call, by)
    scope = e.Scope.CONVERSATION if answered.lasting and asked.pattern else e.Scope.ONCE
    said = asked.choices[answered.choice] if 0 <= answered.choice < len(asked.choices) else ""
    return e.ApprovalGiven(asked.call, asked.digest, by, scope, answer=said)


def word_for(meaning: Meaning) -> str:
    """How an answer reads in one or two words."""
    match meaning:
        case QuestionAnswer(yes=False):
            return "Refused"
        case QuestionAnswer(choice=choice) if choice >= 0:
            return "Chosen"
        case QuestionAnswer(lasting=True):
            return "Allowed in this conversation"
        case QuestionAnswer():
            return "Allowed"
        case MessageStillWanted(yes=yes):
            return "I answer it" if yes else "Left unanswered"
        case LetIn(yes=yes):
            return "Let in" if yes else "Not let in"
