"""An entry of the log as the page is told it: pure, from a fact to JSON that holds words, numbers and nodes alone."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.content import Content, Media, Thinking, ToolCall
from angelia.core.ids import CallId
from angelia.core.sentences import sentence
from angelia.core.text import clean
from angelia.core.unambiguous import unambiguous_line
from angelia.faces.web.conversations.markdown_nodes import Node, nodes
from angelia.faces.words.call_lines import call_in_words, result_in_words
from angelia.faces.words.transcript_lines import Tone, TranscriptLines, reply_text

View = dict[str, Any]

PICTURE = "picture"
"""What stands in the place of a part's number for what a question shows."""
_MOST_DIFF_LINES = 2_000
_CONTEXT = 3
_ADDRESS = re.compile(
    r"(?<![\w.@+-])(?:[a-z][a-z0-9+.-]{1,20}://[^\s'\"`<>|;()]+"
    r"|[\w.+-]{1,64}@[\w.-]{1,253}:[^\s'\"`;|&)]*"
    r"|[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}:[~/\w][^\s'\"`;|&)]*)"
)
"""A URL, `user@host:path`, or `host.name:path`."""


class EntryViews:
    """Tells any entry once it knows what came before: of calls, what they were, so that a result is told with it."""

    def __init__(self) -> None:
        self.calls: dict[CallId, ToolCall] = {}
        self._model = ""
        self._step = 0
        self._steps: dict[int, int] = {}
        self._changes: dict[int, str] = {}

    def learn(self, entry: e.Entry) -> None:
        """Take in the next entry; each is shown to it once, in order."""
        match entry.fact:
            case e.ModelSaid(parts=parts):
                self.calls.update({part.id: part for part in parts if isinstance(part, ToolCall)})
            case e.FilesNamed(files=files):
                self.calls.update({file.call.id: file.call for file in files})
            case e.SetupChanged(model=model):
                if self._model and model != self._model:
                    self._changes[entry.seq] = f"the model is {model} from here on"
                self._model = model
            case e.ModelAsked():
                self._step += 1
                self._steps[entry.seq] = self._step
            case e.TurnClosed():
                self._step = 0
            case _:
                return

    def view(self, entry: e.Entry) -> View:
        """One entry that was learnt. Which keys it has beside `seq`, `at` and `kind` depends on the kind."""
        return {"seq": entry.seq, "at": entry.at, "kind": type(entry.fact).__name__, **self._told(entry)}

    def _line(self, call: CallId) -> str:
        known = self.calls.get(call)
        return call_in_words(known) if known else call

    def _told(self, entry: e.Entry) -> View:  # noqa: C901 - one closed vocabulary, one line a kind
        fact = entry.fact
        match fact:
            case e.UserSaid() | e.Occurred() | e.Delegated():
                return _opening(entry.seq, fact)
            case e.ModelSaid():
                return _reply(fact)
            case e.ModelAsked(heard=heard):
                return {"heard": list(heard), "step": self._steps.get(entry.seq, 0)}
            case e.MessageTakenBack(said=said, by=by):
                return {"said": said, "by": str(by)}
            case e.ToolStarted(call=call):
                return {"call": call, "line": self._line(call)}
            case e.ToolFinished():
                return self._finished(entry.seq, fact)
            case e.ApprovalAsked():
                return question_view(entry.seq, fact)
            case e.ApprovalGiven(call=call, by=by, scope=scope, answer=answer):
                return {"call": call, "by": str(by), "scope": scope, "answer": clean(answer)}
            case e.ApprovalRefused(call=call, by=by, why=why):
                return {"call": call, "by": str(by), "why": clean(why)}
            case e.DeliveryQueued():
                return _delivery(entry.seq, fact)
            case e.DeliverySettled(id=own, status=status, detail=detail):
                return {"id": own, "status": status, "detail": clean(detail)}
            case e.DeliveryReached(id=own, reached=reached, why=why):
                return {"id": own, "status": reached, "detail": clean(why)}
            case e.DeliveryLetBe(id=own, by=by):
                return {"id": own, "status": "let_be", "by": str(by)}
            case e.WorkStarted(call=call, work=work, what=what, child=child):
                return {"call": call, "work": work, "what": clean(what), "child": child.id if child else ""}
            case e.WorkEnded():
                return _work_ended(entry.seq, fact)
            case e.TurnClosed(ending=ending):
                good = isinstance(ending, end.Answered | end.StayedSilent)
                name = type(ending).__name__
                return {"ending": name, "sentence": sentence(ending), "tone": "good" if good else "warning"}
            case e.SetupChanged():
                change = self._changes.get(entry.seq, "")
                return {"lines": [{"tone": Tone.NOTE, "text": change}] if change else []}
            case _:
                lines = TranscriptLines().tell(entry)
                return {"lines": [{"tone": line.tone, "text": clean(line.text)} for line in lines]}

    def _finished(self, seq: int, fact: e.ToolFinished) -> View:
        return {
            "call": fact.call,
            "status": fact.status,
            "line": self._line(fact.call),
            "result": result_in_words(fact),
            "seconds": fact.seconds,
            "parts": part_views(seq, fact.parts, plain=True),
            "whole": fact.full.size if fact.full else 0,
            "diffs": [diff_view(diff) for diff in fact.diffs],
            "cost": fact.paid.cost,
        }


def where_view(workspace: str, sandbox: str) -> list[tuple[str, str]]:
    """Where a conversation works, as a question says it: names and values."""
    rows = (("In", workspace), ("Sandbox", "" if sandbox in ("", "local") else sandbox))
    return [(name, unambiguous_line(value)) for name, value in rows if value]


def question_view(seq: int, asked: e.ApprovalAsked) -> View:
    """The question of the entry `seq` with all that a yes would be to, and nothing hidden in it."""
    shown = shown_question(asked)
    return {
        "seq": seq,
        "call": asked.call,
        "digest": asked.digest,
        "question": shown.title,
        "why": shown.why,
        "whole": shown.whole,
        "pattern": shown.pattern,
        "choices": list(shown.choices),
        "asks": asked.asks,
        "expires": asked.expires,
        "approvers": [str(one) for one in asked.approvers],
        "marks": addresses_in(shown.whole),
        "picture": media_view(seq, PICTURE, asked.picture) if asked.picture else None,
    }


def unreadable_view(seq: int, why: str) -> View:
    """Stands for the question of the entry `seq`, which cannot be read and so not be answered."""
    told = {"seq": seq, "question": "A question that cannot be read", "why": clean(why), "asks": "unreadable"}
    return {**dict.fromkeys(("call", "digest", "whole", "pattern"), ""), "choices": [], "expires": 0, **told}


def addresses_in(text: str) -> list[tuple[int, int]]:
    """Where a text names places beyond this machine, as the page counts letters (UTF-16); for the eye alone.

    >>> text = "git push git@codeberg.org:ann/garden.git main && curl https://a.example/x; scp b nas.local:/v"
    >>> [text[start:end] for start, end in addresses_in(text)]
    ['git@codeberg.org:ann/garden.git', 'https://a.example/x', 'nas.local:/v']
    """
    return [(_units(text[: found.start()]), _units(text[: found.end()])) for found in _ADDRESS.finditer(text)]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def part_views(seq: int, parts: Sequence[Content], *, plain: bool = False) -> list[View]:
    """The parts of the entry `seq`; words as nodes, or `plain` as they are."""
    return [
        media_view(seq, number, part) if isinstance(part, Media) else _words(part.text, plain=plain)
        for number, part in enumerate(parts)
    ]


def media_view(seq: int, part: int | str, media: Media) -> View:
    """A medium by where it is to be had: part number `part` of the entry `seq`, or the picture of its question."""
    return {
        "media": media.media,
        "name": unambiguous_line(media.name),
        "mime": media.blob.mime,
        "size": media.blob.size,
        "width": media.width,
        "height": media.height,
        "seconds": media.seconds,
        "words": clean(media.words),
        "seq": seq,
        "part": part,
    }


def diff_view(diff: e.Diff) -> View:
    """A changed file, by lines: `["+", text]`, `["-", text]`, `[" ", text]`, and before each place that is not the
    beginning `["@", "line 12"]`.
    """
    import difflib

    lines = difflib.unified_diff(diff.old.splitlines(), diff.new.splitlines(), lineterm="", n=_CONTEXT)
    rows = [row for line in islice(lines, 2, None) if (row := _diff_row(line))]
    count = {sign: sum(1 for row in rows if row[0] == sign) for sign in "+-"}
    shown = rows[:_MOST_DIFF_LINES]
    cut = len(rows) > len(shown)
    return {"path": unambiguous_line(diff.path), "added": count["+"], "removed": count["-"], "rows": shown, "cut": cut}


def _diff_row(line: str) -> list[str]:
    if not line.startswith("@@"):
        return [line[:1], clean(line[1:])]
    at = line.partition("+")[2].partition(" ")[0].partition(",")[0]
    return ["@", f"line {at}"] if at not in ("0", "1") else []


def _words(text: str, *, plain: bool) -> View:
    return {"text": clean(text)} if plain else {"text": clean(text), "nodes": reply_nodes(text)}


def reply_nodes(text: str) -> tuple[Node | str, ...]:
    """What somebody wrote, read as Markdown."""
    return nodes(clean(text))


def _opening(seq: int, fact: e.UserSaid | e.Occurred | e.Delegated) -> View:
    return {
        "who": str(fact.sender),
        "door": fact.address.door,
        "key": fact.key,
        "arrival": fact.arrival,
        "forwarded": fact.forwarded,
        "parts": part_views(seq, fact.parts),
    }


def _reply(fact: e.ModelSaid) -> View:
    thinking = "\n\n".join(part.text for part in fact.parts if isinstance(part, Thinking))
    return {
        "model": fact.model,
        "nodes": reply_nodes(reply_text(fact.parts)),
        "text": clean(reply_text(fact.parts)),
        "thinking": clean(thinking),
        "calls": [_call(part) for part in fact.parts if isinstance(part, ToolCall)],
        "usage": {"input": fact.usage.input, "output": fact.usage.output},
        "cost": fact.cost,
        "stop": fact.stop,
    }


def _call(call: ToolCall) -> View:
    return {"id": call.id, "name": call.name, "line": call_in_words(call), "arguments": dict(_arguments(call))}


def _arguments(call: ToolCall) -> Iterator[tuple[str, str]]:
    """By name, as words: what is no text is shown as JSON."""
    try:
        given = msgspec.json.decode(call.arguments or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        yield "", clean(call.arguments)
        return
    for name, value in given.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        yield clean(name), clean(text)


def _delivery(seq: int, fact: e.DeliveryQueued) -> View:
    to = {"door": fact.address.door, "chat": fact.address.chat, "thread": fact.address.thread}
    return {"id": fact.id, "to": to, "origin": fact.origin, "parts": part_views(seq, fact.parts)}


def _work_ended(seq: int, fact: e.WorkEnded) -> View:
    came = fact.child
    ending = type(came.ending).__name__ if came and came.ending else ""
    spent = {"cost": came.cost, "unpriced": came.unpriced, "steps": came.steps} if came else {}
    return {
        "call": fact.call,
        "work": fact.work,
        "status": fact.status,
        "parts": part_views(seq, fact.parts, plain=True),
        "child": {"ending": ending} | spent if spent else None,
    }
