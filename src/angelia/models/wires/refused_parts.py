"""What a refusal of a request (400, 422) names: one of its parameters, or one of its tools.

Only what this very request carries counts, so that what is left out changes it; anything else refuses the whole.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from angelia.core.failure import FailureKind


class RefusedPart(Struct, frozen=True):
    """A part of a request by its name there, and the kind of failure that this is."""

    kind: FailureKind
    name: str


KEPT = frozenset({"model", "messages", "input", "instructions", "system", "stream", "tools"})
"""Parameters without which a request is none."""

_TOOLS = (
    r"invalid schema for function '(?P<name>[\w.-]+)'",
    r"(?:function|tool)(?: named)? ['\"`](?P<name>[\w.-]+)['\"`][^.]{0,80}(?:schema|parameters|name)",
    r"tools[.\[](?P<at>\d+)\]?",
    r"function_declarations\[(?P<at>\d+)\]",
)
_NAME = r"(?P<name>[A-Za-z_][\w.]*)"
_NOT = r"(?:not (?:supported|allowed|permitted|valid|recognized)|unsupported|unknown)"
_WORDS = r"(?:parameter|argument|value|field|keyword|name|property|option)"
_EXTRA = r"(?:extra_forbidden|extra (?:inputs|fields) (?:are )?not permitted)"
_PARAMETERS = (
    rf"un(?:supported|known|recognized|expected) (?:request )?{_WORDS}s?(?: supplied)?:? ?['\"`]?{_NAME}",
    rf"{_WORDS} ['\"`]?{_NAME}['\"`]?[^.]{{0,40}}{_NOT}",
    rf"['\"`]?{_NAME}['\"`]?:? ?{_EXTRA}",
    rf"['\"`]{_NAME}['\"`] (?:is|are)(?: a)? ?{_NOT}",
    rf"does(?: not|n't) support (?:the )?(?:parameter |setting )?['\"`]?{_NAME}",
    rf"argument not supported on this model: {_NAME}",
    rf"\"loc\": ?\[(?:\"body\", ?)?\"{_NAME}\"[^\]]*\].{{0,200}}?{_EXTRA}",
    rf"{_EXTRA}.{{0,200}}?\"loc\": ?\[(?:\"body\", ?)?\"{_NAME}\"",
    rf"\"param\": ?\"{_NAME}\"",
)
"""How vendors name a parameter (tests/models/test_refused_parts.py has their sentences)."""


def refused_part(body: bytes, parameters: Sequence[str], tools: Sequence[str]) -> RefusedPart | None:
    """The part that a refusal names, of those that the request had; None if it names none of them."""
    text = body.decode(errors="replace")[:4000].replace('\\"', '"')
    for pattern in _TOOLS:
        for found in re.finditer(pattern, text, re.IGNORECASE):
            if name := _tool(found, tools):
                return RefusedPart(FailureKind.TOOL_REFUSED, name)
    for named in _named(text):
        if name := _sent(named, parameters):
            return RefusedPart(FailureKind.PARAMETER_REFUSED, name)
    return None


def _tool(found: re.Match[str], tools: Sequence[str]) -> str:
    given = found.groupdict()
    if (at := given.get("at")) is not None:
        return tools[int(at)] if int(at) < len(tools) else ""
    return given["name"] if given.get("name") in tools else ""


def _named(text: str) -> Iterator[str]:
    for pattern in _PARAMETERS:
        for found in re.finditer(pattern, text, re.IGNORECASE | re.DOTALL):
            yield found["name"]


def _sent(named: str, parameters: Sequence[str]) -> str:
    """The parameter of the request that is meant, also by `reasoning.effort`, `reasoningEffort` or `thinking`."""
    first = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", named).partition(".")[0].lower()
    alike = {first, *(("reasoning", "reasoning_effort") if first in ("thinking", "think", "reasoning") else ())}
    return next((name for name in parameters if name in alike and name not in KEPT), "")
