"""The question about a call: what a yes would be to, whole, and bound to these very arguments."""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.errors import UNREADABLE
from angelia.policy.verdict import (
    Ask,
    AskPerson,
    Effect,
    FetchUrl,
    HandOverPage,
    ReadPath,
    RunCommand,
    SearchWeb,
    WritePath,
)


def question(call: ToolCall, verdict: Ask, effects: Sequence[Effect]) -> e.ApprovalAsked:
    """What a person is asked about a call."""
    asked = next((effect for effect in effects if isinstance(effect, AskPerson | HandOverPage)), None)
    if asked:
        return e.ApprovalAsked(
            call=call.id,
            question=verdict.question,
            digest=digest(call, digest_of(effects)),
            why=verdict.reason,
            choices=asked.choices,
            picture=asked.picture if isinstance(asked, HandOverPage) else None,
            effects=digest_of(effects),
            asks=e.QuestionKind.CHOICE,
            approvers=verdict.approvers,
        )
    return e.ApprovalAsked(
        call=call.id,
        question=verdict.question,
        digest=digest(call, digest_of(effects)),
        why=verdict.reason,
        pattern=verdict.pattern,
        whole=_whole(call, verdict.question, effects),
        approvers=verdict.approvers,
        effects=digest_of(effects),
    )


def digest_of(effects: Sequence[Effect]) -> str:
    """Binds an approval to what the call would have done when it was asked about."""
    return hashlib.sha256(msgspec.json.encode(effects)).hexdigest()[:32]


def digest(call: ToolCall, effects: str = "") -> str:
    """Binds an approval to a call's name and exact arguments, and to what it would have done (`digest_of`): what is
    asked once more since it would do something else by now is another question, at every door.
    """
    bound = (call.name, call.arguments, *([effects] if effects else []))
    return hashlib.sha256("\0".join(bound).encode()).hexdigest()[:32]


def _whole(call: ToolCall, title: str, effects: Sequence[Effect]) -> str:
    """Every argument in its whole length; empty where the title has said the only one word for word."""
    try:
        given = msgspec.json.decode(call.arguments)
    except UNREADABLE:
        return call.arguments
    if not isinstance(given, dict):
        return call.arguments
    if len(given) == 1 and next(iter(given.values())) in [one for one in map(_said, effects) if _says(title, one)]:
        return ""
    return "\n".join(_argument(name, value) for name, value in given.items()) or f"{call.name}, without arguments"


def _said(effect: Effect) -> str:
    match effect:
        case RunCommand(command=said) | FetchUrl(url=said) | SearchWeb(words=said):
            return said
        case ReadPath(path=said) | WritePath(path=said):
            return said
        case _:
            return ""


def _says(title: str, said: str) -> bool:
    return bool(said) and said in title and "`" not in said


def _argument(name: str, value: Any) -> str:
    r"""One argument; several lines are set in, so that none of them passes for another argument.

    >>> _argument("command", "ls" + chr(10) + "reach: confined")
    'command:\n  ls\n  reach: confined'
    """
    words = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value)).decode()
    name = " ".join(name.split())
    return f"{name}:\n  " + words.replace("\n", "\n  ") if "\n" in words else f"{name}: {words}"
