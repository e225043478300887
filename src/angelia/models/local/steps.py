"""How a small model is brought to work: one step at a time, a label first, held to a grammar and to what is there.

Measured with 25 small tasks in a folder: the same weights pass 21 so, and 16 where they are asked as larger ones are.
What lifts them: deciding again after each result; examples as turns of a chat, with names that nobody has; paths that
can only be those of the folder; results of changes that show what the file holds now.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from angelia.context.request import RequestMessage, Result, Role, Shown
from angelia.core.content import CallStatus, Text, ToolCall

LABELS: Mapping[str, str] = {"run": "shell", "read": "read", "write": "write", "edit": "edit", "send": "send_file"}
"""What a step is called, and the tool that it calls."""
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "run": ("command",),
    "read": ("path",),
    "write": ("path", "content"),
    "edit": ("path", "old", "new"),
    "send": ("path",),
}
SAY = "say"
FOLDER = "."
"""What is read to know which names there are."""
MOST_STEPS = 8
"""Calls in one turn; after those it says what has come of it."""
MOST_RESULT = 2400
"""Characters of one result that it reads."""
_MOST_EARLIER = 300
"""Characters of an earlier message or answer."""
_MOST_NAMES = 60
"""Names that a path can be; beyond those it is written freely."""

SYSTEM = """\
You are an assistant that works in one folder of a computer. Answer each message with one step:
run: a shell command. read: a file. write: a whole file. edit: a few words of a file. send: a file to the person.
say: words to the person, when all is done or there is nothing to do."""


class StepDone(NamedTuple):
    """A call of this turn, and what came of it."""

    tool: str
    arguments: Mapping[str, Any]
    ok: bool
    text: str


class CurrentTurn(NamedTuple):
    """What was said last, and what was done about it; `shows_media` if something came along.

    `before` is the exchange before it: what was said and answered, and the files that were written or sent.
    """

    wish: str
    done: tuple[StepDone, ...]
    shows_media: bool
    before: str = ""

    @property
    def looked(self) -> bool:
        """Whether the names in the folder are known."""
        return any(one.tool == "read" and one.arguments.get("path") == FOLDER for one in self.done)

    def names(self) -> tuple[str, ...]:
        """The files that are known to be there."""
        found = dict[str, None]()
        for one in self.done:
            if one.tool == "read" and one.arguments.get("path") == FOLDER and one.ok:
                found |= dict.fromkeys(_listed(one.text))
            if one.tool == "write" and one.ok:
                found[str(one.arguments.get("path"))] = None
        return tuple(found)

    def holds(self, path: str) -> str | None:
        """What a file holds, as far as this turn has seen it; None if it has not."""
        held: str | None = None
        for one in self.done:
            if one.arguments.get("path") != path or not one.ok:
                continue
            if one.tool == "read":
                held = without_numbers(one.text)
            elif one.tool == "write":
                held = str(one.arguments.get("content", ""))
            elif one.tool == "edit" and held is not None:
                held = held.replace(str(one.arguments.get("old")), str(one.arguments.get("new")), 1)
        return held


class NextStep(NamedTuple):
    """One step as it was written; `words` for `say`."""

    label: str
    arguments: Mapping[str, Any]
    words: str = ""

    @property
    def call(self) -> tuple[str, str]:
        """The tool, and its arguments as JSON."""
        return LABELS[self.label], json.dumps(self.arguments, ensure_ascii=False)


EXAMPLES: Sequence[tuple[str, str]] = (
    ("Files: quokka.txt, zorb.csv\n\nWhich files are in the folder?", 'run: {"command": "ls"}'),
    ("quokka.txt\nzorb.csv", "say: There are quokka.txt and zorb.csv."),
    (
        "Files: zorb.csv\n\nMake a file glim.txt that says good day",
        'write: {"path": "glim.txt", "content": "good day\\n"}',
    ),
    ("Done. glim.txt now holds:\ngood day", "say: I wrote glim.txt. It says: good day"),
    ("Files: glim.txt\n\nHow high is Mont Blanc?", "say: Mont Blanc is 4,806 metres high."),
    ("Files: vex.md\n\nReplace red by blue in vex.md", 'read: {"path": "vex.md"}'),
    ("vex.md holds:\nThe red door.", 'edit: {"path": "vex.md", "old": "red", "new": "blue"}'),
    ("Done. vex.md now holds:\nThe blue door.", "say: I replaced it. vex.md now says: The blue door."),
    ("Files: wumpus.log\n\nHow many lines has wumpus.log?", 'run: {"command": "wc -l wumpus.log"}'),
    ("12 wumpus.log", "say: wumpus.log has 12 lines."),
    ("Files: quokka.txt\n\nTell me a word for a small house", "say: Cottage."),
    ("Files: gorp.txt\n\nAdd salt to gorp.txt", 'read: {"path": "gorp.txt"}'),
    ("gorp.txt holds:\npepper", 'write: {"path": "gorp.txt", "content": "pepper\\nsalt\\n"}'),
    ("Done. gorp.txt now holds:\npepper\nsalt", "say: I added it. gorp.txt now says:\npepper\nsalt"),
    ("Files: pim.txt\n\nRename pim.txt to pom.txt", 'run: {"command": "mv pim.txt pom.txt"}'),
    ("Done. It printed nothing.", "say: pim.txt is now called pom.txt."),
    ("Files: dor.txt\n\nWhat is the sum of dor.txt?", 'run: {"command": "awk \'{s += $1} END {print s}\' dor.txt"}'),
    ("21", "say: The sum is 21."),
    ("Files: snark.png\n\nSend me snark.png", 'send: {"path": "snark.png"}'),
    ("Queued for the person: snark.png", "say: Here is snark.png."),
    ("Files: zorb.csv\n\nWhat is 6 times 4?", "say: 6 times 4 is 24."),
    ("Files: quokka.txt\n\nWhat is in quokka.txt?", 'read: {"path": "quokka.txt"}'),
    ("quokka.txt holds:\nfour legs\none tail", "say: quokka.txt says:\nfour legs\none tail"),
    ("Files: zib.csv, glim.txt\n\nHow old is Max in zib.csv?", 'read: {"path": "zib.csv"}'),
    ("zib.csv holds:\nname,age\nMax,9", "say: Max is 9 years old."),
)
"""With names that nobody has: a name in an example is used.

Three only say something, though there are files: without them half of all plain questions were looked up there or by a
command. They stand apart, and a file that is told whole near the end, or the smaller weights tell the least of it.
"""


def current_turn(messages: Sequence[RequestMessage]) -> CurrentTurn:
    """What was said last, with the calls that followed."""
    first, last = _last_said(messages)
    said = messages[first : last + 1]
    shows = any(isinstance(part, Shown) for message in said for part in message.parts)
    wish = "\n".join(words(message.parts) for message in said).strip()
    return CurrentTurn(wish, _steps_done(messages[last:]), shows, _exchange(messages[:first]))


def _last_said(messages: Sequence[RequestMessage]) -> tuple[int, int]:
    """The first and the last of the messages that the person sent last, one behind the other."""
    last = max((at for at, message in enumerate(messages) if message.role is Role.USER), default=0)
    first = last
    while first and messages[first - 1].role is Role.USER:
        first -= 1
    return first, last


def _steps_done(messages: Sequence[RequestMessage]) -> tuple[StepDone, ...]:
    results = {part.call: part for message in messages for part in message.parts if isinstance(part, Result)}
    return tuple(
        StepDone(call.name, _decoded(call.arguments), result.status is CallStatus.OK, words(result.parts))
        for message in messages
        for call in message.parts
        if isinstance(call, ToolCall) and (result := results.get(call.id))
    )


def _exchange(messages: Sequence[RequestMessage]) -> str:
    """The last exchange among them, with the names of files that were written or sent in it."""
    first, last = _last_said(messages)
    spoken = [words(message.parts) for message in messages[first:] if message.role is not Role.TOOL]
    made = [one for one in _steps_done(messages[last:]) if one.ok and one.tool in {"write", "edit", "send_file"}]
    return "\n".join([*filter(None, spoken), *(str(one.arguments.get("path", "")) for one in made)])


def words(parts: Iterable[object]) -> str:
    """The texts among them."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def static_chat() -> list[dict[str, str]]:
    """What stands at the beginning of every prompt, so that it is read once."""
    chat = [{"role": "system", "content": SYSTEM}]
    for said, step in EXAMPLES:
        chat += [{"role": "user", "content": said}, {"role": "assistant", "content": step}]
    return chat


def step_chat(turn: CurrentTurn, messages: Sequence[RequestMessage]) -> list[dict[str, str]]:
    """The prompt for the next step: the examples, the last exchanges, the wish with the names, and what was done."""
    chat = [*static_chat(), *_earlier(messages)]
    names = turn.names()
    files = f"Files: {', '.join(names[:_MOST_NAMES]) or 'none'}\n\n" if turn.looked else ""
    chat.append({"role": "user", "content": f"{files}{turn.wish}"})
    for at, one in enumerate(turn.done):
        if one.tool == "read" and one.arguments.get("path") == FOLDER:
            continue
        label = next((label for label, tool in LABELS.items() if tool == one.tool), "run")
        arguments = {name: one.arguments[name] for name in _ARGUMENTS[label] if name in one.arguments}
        chat.append({"role": "assistant", "content": f"{label}: {json.dumps(arguments, ensure_ascii=False)}"})
        chat.append({"role": "user", "content": _told(one, turn._replace(done=turn.done[: at + 1]))})
    return chat


def _told(one: StepDone, then: CurrentTurn) -> str:
    path = str(one.arguments.get("path", ""))
    if not one.ok:
        return f"It failed: {_cut(one.text)}"
    match one.tool:
        case "read":
            return f"{path} holds:\n{_cut(without_numbers(one.text))}"
        case "write" | "edit" if (held := then.holds(path)) is not None:
            return f"Done. {path} now holds:\n{_cut(held)}"
        case "shell" if kept := printed_only(one, then):
            return f"{_cut(_printed(one))}\n(That only printed: {kept} is as it was.)"
        case _:
            return _cut(_printed(one)) or "Done. It printed nothing."


def _printed(one: StepDone) -> str:
    return one.text.replace("[exit status 0]", "").strip()


def label_grammar(tools: Iterable[str]) -> str:
    """GBNF for the label alone: what kind of step the first is."""
    offered = [label for label, tool in LABELS.items() if tool in set(tools)]
    return "root ::= " + " | ".join(_literal(f"{label}: ") for label in (*offered, SAY))


_FILTERS = re.compile(
    r"^\s*(?:sed\b(?!.*\s(?:-i|--in-place))|grep\s+-\w*v|tr\b|uniq\b|sort\b(?!.*\s-o))[^>]*$", re.DOTALL
)
"""A command that prints a file otherwise than it is, and leaves it so."""


def printed_only(one: StepDone, turn: CurrentTurn) -> str:
    """The file that a command of this kind names: a small model takes what was printed for what the file holds now."""
    command = str(one.arguments.get("command", "")) if one.tool == "shell" and one.ok else ""
    if not _FILTERS.fullmatch(command) or re.search(r"\btee\b", command):
        return ""
    return next((name for name in turn.names() if name in command), "")


def step_grammar(turn: CurrentTurn, tools: Iterable[str], *, act: bool = True) -> str:
    """GBNF for one step: what may be read, changed and sent is what is there, once that is known."""
    offered = [label for label, tool in LABELS.items() if tool in set(tools)] if act else []
    labels = [*offered, SAY]
    names = turn.names()[:_MOST_NAMES]
    path = " | ".join(_literal(json.dumps(name, ensure_ascii=False)) for name in names) or "string"
    rules = [f"root ::= {' | '.join(labels)}"]
    for label in offered:
        if label in {"edit", "send"} and turn.looked and not names:
            rules[0] = rules[0].replace(f" | {label}", "").replace(f"{label} | ", "")
            continue
        kinds = {name: "path" if name == "path" and label != "write" else "string" for name in _ARGUMENTS[label]}
        pairs = [f"{_literal(json.dumps(name) + ': ')} {kind}" for name, kind in kinds.items()]
        rules.append(f"{label} ::= {_literal(label + ': {')} " + f" {_literal(', ')} ".join(pairs) + ' "}"')
    rules.append('say ::= "say: " [^\\x00]+')
    rules.append(f"path ::= {path}")
    rules.append('string ::= "\\"" ([^"\\\\\\x00-\\x1f] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\\""')
    return "\n".join(rules)


def parsed_step(text: str) -> NextStep:
    """What was written; a grammar has seen to its form, but the end may be cut off.

    >>> parsed_step('read: {"path": "a.txt"}')
    NextStep(label='read', arguments={'path': 'a.txt'}, words='')
    """
    label, _, rest = text.partition(": ")
    if label not in LABELS:
        return NextStep(SAY, {}, rest if label == SAY else text)
    return NextStep(label, _decoded(rest))


def names_found(turn: CurrentTurn) -> set[str]:
    """The files that were there when the turn began."""
    looks = [one for one in turn.done if one.tool == "read" and one.arguments.get("path") == FOLDER and one.ok]
    return set(_listed(looks[0].text)) if looks else set()


def words_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def repeats(step: NextStep, turn: CurrentTurn) -> bool:
    """Whether the very call was made in this turn, and nothing was changed since."""
    if step.label == SAY:
        return False
    tool, _ = step.call
    for one in reversed(turn.done):
        known = {name: one.arguments.get(name) for name in _ARGUMENTS[step.label]}
        if one.tool == tool and known == dict(step.arguments):
            return True
        if one.ok and one.tool in {"write", "edit", "shell"} and tool not in {"write", "edit"}:
            return False
    return False


def without_numbers(text: str) -> str:
    """A file as `read` tells it, without the numbers of its lines."""
    return "\n".join(re.sub(r"^\s*\d+\t", "", line) for line in text.splitlines())


def _earlier(messages: Sequence[RequestMessage]) -> list[dict[str, str]]:
    """The last exchange before this turn: what was said, and what was answered."""
    first, _ = _last_said(messages)
    spoken = [message for message in messages[:first] if message.role is not Role.TOOL and words(message.parts)]
    said = [(message.role, words(message.parts)) for message in spoken[-2:]]
    if [role for role, _ in said] != [Role.USER, Role.ASSISTANT]:
        return []
    (_, wish), (_, answer) = said
    return [
        {"role": "user", "content": wish[:_MOST_EARLIER]},
        {"role": "assistant", "content": f"say: {answer[:_MOST_EARLIER]}"},
    ]


def _listed(text: str) -> list[str]:
    """The files in a folder as `read` tells it."""
    return [line.partition("\t")[0] for line in text.splitlines()[1:] if "\t" in line]


def _cut(text: str) -> str:
    return text if len(text) <= MOST_RESULT else f"{text[:MOST_RESULT]}\n(The rest is left out.)"


def _decoded(arguments: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _literal(text: str) -> str:
    """A GBNF string."""
    return json.dumps(text, ensure_ascii=False)
