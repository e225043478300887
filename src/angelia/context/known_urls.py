"""Which URLs stood in a conversation before a reply repeats them: those lead nowhere that nobody else had named."""

import re
from collections.abc import Iterator, Sequence

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ids import CallId

_URL = r"(?=(https?://[^\s<>\"'`\\]+))"
_CLOSING = r"[)\]}|*]"


def known_urls(log: Sequence[e.Entry]) -> frozenset[str]:
    """Every URL that stands in a person's words or in a tool's good result, whole.

    What a model put into a call itself proves nothing: a result that only repeats it does not count.
    """
    asked: dict[CallId, str] = {}
    found: set[str] = set()
    for entry in log:
        match entry.fact:
            case e.ModelSaid(parts=parts):
                asked.update({part.id: part.arguments for part in parts if isinstance(part, ToolCall)})
            case e.Opening(parts=said):
                found.update(url for part in said if isinstance(part, Text) for url in urls_in(part.text))
            case e.ToolFinished(call=call, status=CallStatus.OK, parts=brought) if call in asked:
                texts = [part.text for part in brought if isinstance(part, Text)]
                found.update(url for text in texts for url in urls_in(text) if url not in asked[call])
            case _:
                pass
    return frozenset(found)


def urls_in(text: str) -> Iterator[str]:
    """Every URL in a text, also as it reads where Markdown or a sentence closes behind it."""
    for found in re.finditer(_URL, text):
        whole: str = found[1]
        for end in (*(mark.start() for mark in re.finditer(_CLOSING, whole)), len(whole)):
            yield whole[:end]
            yield whole[:end].rstrip(".,;:!?_")
