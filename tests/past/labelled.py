"""Synthetic dialogues with questions about them, each with the message that answers it.

Sixty people are spoken of in sixty conversations of some 34 messages. What is asked for shares no sentence with what
was said: it names the person and one thing in another form or order, and both occur in many other messages, too.
"""

from itertools import product
from random import Random

from msgspec import Struct

FIRST = ("Marta", "Ilya", "Noor", "Tomas", "Greta", "Kofi", "Yara", "Bruno", "Saskia", "Levi", "Amina", "Oskar")
LAST = ("Berg", "Okoye", "Lund", "Rossi", "Haddad")
PEOPLE = [f"{first} {last}" for first, last in product(FIRST, LAST)]

THINGS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "bees": (
        "{who} keeps the beehives {what}.",
        ("behind the mill", "on the roof", "by the river"),
        "Where are the bees of {who}?",
    ),
    "allergy": (
        "Careful with {who}: {what} make her ill, the doctor found the allergy.",
        ("walnuts", "shrimps", "lentils"),
        "What is {who} allergic to?",
    ),
    "train": (
        "{who} arrives by train {what}.",
        ("at noon on Friday", "late on Sunday", "on Monday at seven"),
        "When does the train of {who} arrive?",
    ),
    "gift": (
        "For her birthday {who} wished for {what}.",
        ("a telescope", "a red kayak", "old maps"),
        "Which birthday present did {who} wish for?",
    ),
    "wifi": (
        "The wifi at the cabin of {who} is called {what}.",
        ("otterden", "bluefjord", "saltmill"),
        "What is the wifi name in {who}'s cabin?",
    ),
}
CHATTER = (
    "Did {who} call today?", "I met {who} at the market.", "The bees are loud this summer.", "My train was late again.",
    "Whose birthday is it on Friday?", "The wifi is slow.", "She is ill since Monday.", "Where did you put the maps?",
    "The cabin needs a new roof.", "We should visit {who} some day.", "It rained all of Sunday.", "The mill is closed.",
)  # fmt: skip
ANSWERS = ("I see.", "Noted, thank you.", "That is good to know.", "Shall I remind you?", "Of course.", "Let me look.")


class Question(Struct, frozen=True):
    """A question, and the conversation and message that answer it, both counted from 0."""

    text: str
    conversation: int
    message: int


def dialogues(seed: int) -> tuple[list[list[str]], list[Question]]:
    """Conversations, as what the person and the model say by turns, and what is asked about them."""
    random = Random(seed)
    facts = [(who, name) for who in PEOPLE for name in THINGS]
    random.shuffle(facts)
    talks: list[list[str]] = [[] for _ in PEOPLE]
    questions = []
    for number, (who, name) in enumerate(facts):
        sentence, values, question = THINGS[name]
        talk = talks[number % len(talks)]
        for _ in range(random.randrange(1, 5)):
            talk += [random.choice(CHATTER).format(who=random.choice(PEOPLE)), random.choice(ANSWERS)]
        questions.append(Question(question.format(who=who), number % len(talks), len(talk)))
        talk += [sentence.format(who=who, what=random.choice(values)), random.choice(ANSWERS)]
    return talks, questions
