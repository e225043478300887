"""Plain questions to a small model: the folder has nothing to do with them, so words are all the answer."""

from typing import NamedTuple


class Question(NamedTuple):
    """One question. `aside` keeps it out of the tuning."""

    wish: str
    aside: bool = False


_TUNED = (
    "What is the capital of Peru?",
    "Give me a name for a cat",
    "What is 17 times 23?",
    "Explain in one sentence what a variable is",
    "Say good morning in French",
    "Who wrote Romeo and Juliet?",
    "How many days has a week?",
    "What is the opposite of cold?",
    "Name three fruits",
    "Why is the sky blue?",
    "Thank you!",
    "How are you today?",
    "Write a short poem about the sea",
    "What can you do for me?",
    "How do I boil an egg?",
    "Is a whale a fish?",
    "What does the word frugal mean?",
    "Wie viele Beine hat eine Spinne?",
    "¿Cuál es la capital de España?",
    "法国的首都是哪里？",
)
_ASIDE = (
    "What is the largest planet?",
    "Suggest a title for a book about bees",
    "What is 144 divided by 12?",
    "Explain briefly what a database is",
    "How do you say thank you in Italian?",
    "Who painted the Mona Lisa?",
    "How many legs has an ant?",
    "Give me a synonym for happy",
    "List the seasons of the year",
    "Why do leaves fall in autumn?",
    "Good evening!",
    "I am tired today",
    "What should I cook for dinner?",
    "Was ist die Hauptstadt von Italien?",
    "¿Qué significa la palabra lluvia?",
    "给我讲一个笑话",
)
QUESTIONS = (*(Question(wish) for wish in _TUNED), *(Question(wish, aside=True) for wish in _ASIDE))
"""Twenty that the prompt is tuned on, and sixteen that nobody has tuned it on."""
