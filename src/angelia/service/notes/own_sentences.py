"""Whether a note says, word for word, a whole sentence that the person wrote: then its words are theirs alone.

Somebody else's words in view cannot make such a note say anything that the person did not: not less than a sentence
counts, so a “never” is not left out, nothing that is quoted does, and nothing that was put together of several.
"""

import re
from collections.abc import Iterator, Sequence

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.principal import Principal

_ENDS = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_LEAST_WORDS = 2
_QUOTED = (">", "|")


def is_sentence_of(text: str, log: Sequence[e.Entry], person: Principal) -> bool:
    """Whether `text` is a sentence of a message that this person wrote, letter case and blanks aside.

    In a conversation that was imported nobody answers for who wrote what.
    """
    if any(isinstance(entry.fact, e.Imported) for entry in log):
        return False
    wanted = _bare(text)
    return len(re.findall(r"\w+", wanted)) >= _LEAST_WORDS and any(
        wanted == _bare(one) for entry in log for one in _sentences(entry.fact, person)
    )


def _sentences(fact: e.AnyFact, person: Principal) -> Iterator[str]:
    if isinstance(fact, e.UserSaid) and fact.sender == person and not fact.forwarded:
        for part in fact.parts:
            for line in part.text.splitlines() if isinstance(part, Text) else ():
                if not line.lstrip().startswith(_QUOTED):
                    yield from _ENDS.split(line)


def _bare(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!?…。！？")
