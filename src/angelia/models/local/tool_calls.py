"""How a very small model is brought to call a tool: it goes on with a list of examples, held to a grammar.

Asked in words whether it needs a tool, a model of this size guesses. It is better at going on with a list: of 37 short
requests in English, SmolLM2-135M told apart those that need a tool and those that do not in 32 and picked the right
tool in 25 (what it gets wrong it mostly answers in words, or runs as a command); Qwen2.5-Coder-0.5B did so in 37 and
35. With the examples as a chat, or with tool schemas in the system prompt, SmolLM2 did no better than a coin.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from angelia.context.request import RequestMessage, Role, Shown, ToolSpec
from angelia.core.content import Text, ToolCall

LABELS: Mapping[str, str] = {"shell": "command", "read": "open file", "write": "save file"}
"""The tools that are offered, if the request has them, and what they are called in the list."""
REPLY = "reply"

_FILE = re.compile(r"[\w.~-]*/[\w./-]+|[\w./~-]*\w\.[A-Za-z]\w{0,4}\b|\b[A-Z]{4,}\b")
"""What looks like a file's name. Such a word is pointed out: the model alone overlooks it in questions."""
_REMEMBERED = 2
"""Earlier messages that stand in the list, so that "delete it" can be understood."""
_MOST = 600
"""Characters of one message in the list."""


class Shot(NamedTuple):
    """An example: what was said, the tool that was used (or none), and its arguments (or the reply)."""

    said: str
    tool: str
    values: tuple[str, ...]


SHOTS = (
    Shot("Hi there", "", ("Hello! How can I help?",)),
    Shot("What is in data.csv?", "read", ("data.csv",)),
    Shot("What is 7 times 8?", "", ("56",)),
    Shot("List all python files", "shell", ("find . -name '*.py'",)),
    Shot("Tell me a joke", "", ("Why did the chicken cross the road?",)),
    Shot("Make a file a.txt that says ok", "write", ("a.txt", "ok\n")),
    Shot("What is a dictionary?", "", ("A book of words.",)),
    Shot("How big is the folder?", "shell", ("du -sh .",)),
    Shot("Write a poem about the sea", "", ("The sea is wide.",)),
    Shot("Put the word yes into answer.txt", "write", ("answer.txt", "yes\n")),
    Shot("Thank you", "", ("You're welcome!",)),
    Shot("Read setup.cfg and tell me the name", "read", ("setup.cfg",)),
    Shot("Who was Newton?", "", ("An English scientist.",)),
    Shot("Run make build", "shell", ("make build",)),
    Shot("What does LICENSE say?", "read", ("LICENSE",)),
    Shot("How are you?", "", ("I am well.",)),
)


class OfferedTool(NamedTuple):
    """One tool as it is offered: the arguments it cannot do without, as a schema; the others are left to defaults."""

    name: str
    schema: dict[str, Any]

    def arguments(self, values: Iterable[str]) -> str:
        """Values in the order of the schema, as the list writes them."""
        return json.dumps(dict(zip(self.schema["required"], values, strict=False)), ensure_ascii=False)


def offers(tools: Sequence[ToolSpec]) -> dict[str, OfferedTool]:
    """The tools of a request that this model is offered, by label."""
    return {LABELS[tool.name]: OfferedTool(tool.name, _required(tool.schema)) for tool in tools if tool.name in LABELS}


def wants_decision(messages: Sequence[RequestMessage]) -> bool:
    """Whether there is something to decide: after a result, or with a file in the message, the model answers."""
    if not messages or messages[-1].role is not Role.USER:
        return False
    return not any(isinstance(part, Shown) for message in _last_said(messages) for part in message.parts)


def decision_prompt(messages: Sequence[RequestMessage], offered: Mapping[str, OfferedTool]) -> str:
    """The list of examples, then the conversation's last messages; what comes next is the decision."""
    by_tool = {offer.name: (label, offer) for label, offer in offered.items()}
    choices = ", ".join((REPLY, *offered))
    lines = [f"An assistant on a computer. For each message it does one thing: {choices}."]
    for shot in SHOTS:
        if not shot.tool:
            lines.append(_line(shot.said, f"{REPLY}: {shot.values[0]}"))
        elif shot.tool in by_tool:
            label, offer = by_tool[shot.tool]
            lines.append(_line(shot.said, f"{label}: {offer.arguments(shot.values)}"))
    lines += _earlier(messages, by_tool)
    said = " ".join(_said(message) for message in _last_said(messages))
    return "\n\n".join([*lines, _line(said, "")]).rstrip()


def label_grammar(offered: Mapping[str, OfferedTool]) -> str:
    """GBNF that lets the list go on with one of the labels, and nothing else."""
    return 'root ::= " " (' + " | ".join(json.dumps(label) for label in (REPLY, *offered)) + ")"


def _required(schema: msgspec.Raw) -> dict[str, Any]:
    whole = msgspec.json.decode(schema)
    names = list(whole.get("required", ()))
    properties = {name: whole["properties"][name] for name in names}
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _line(said: str, does: str) -> str:
    file = _FILE.search(said)
    about = f"[about the file {file[0]}] " if file else ""
    return f"Message: {about}{said}\nDoes: {does}"


def _said(message: RequestMessage) -> str:
    words = " ".join(part.text for part in message.parts if isinstance(part, Text))
    return " ".join(words.split())[:_MOST]


def _last_said(messages: Sequence[RequestMessage]) -> list[RequestMessage]:
    """What was said since the last reply."""
    last: list[RequestMessage] = []
    for message in reversed(messages):
        if message.role is not Role.USER:
            break
        last.insert(0, message)
    return last


def _earlier(messages: Sequence[RequestMessage], by_tool: Mapping[str, tuple[str, OfferedTool]]) -> list[str]:
    """The last exchanges before this one: what was said, and what the reply to it began with."""
    lines = []
    for asked, reply in pairwise(messages):
        if asked.role is not Role.USER or reply.role is not Role.ASSISTANT:
            continue
        call = next((part for part in reply.parts if isinstance(part, ToolCall) and part.name in by_tool), None)
        does = f"{by_tool[call.name][0]}: {call.arguments[:_MOST]}" if call else f"{REPLY}: {_said(reply)[:80]}"
        lines.append(_line(_said(asked)[:200], does))
    return lines[-_REMEMBERED:]
