"""What a conversation is made of, how its turns go on and how they end, printed from the code."""

from typing import get_args

from angelia.core import content, ending, entry
from angelia.core.failure import Failure, FailureKind
from angelia.core.principal import OWNER
from angelia.core.sentences import sentence, sentence_in_chat
from angelia.engine import machine
from angelia.engine.remedies import DEFAULT, Remedy, Row, ending_for
from angelia.faces.cli import exits
from angelia.faces.words.transcript_lines import FAILURES, TranscriptLines
from docs.markdown import code, page, table
from docs.read_source import Field, calls_of, fields, members, words

M = "openai:gpt-5"
SAID = "what the provider said"

EXAMPLES: dict[type, ending.Ending] = {
    type(one): one
    for one in (
        ending.Answered(note=f"{M} added nothing after its last note, so the text above is its answer."),
        ending.StayedSilent("no mail since yesterday"),
        ending.Cancelled(by=OWNER),
        ending.Stalled(900),
        ending.StepLimit(steps=90),
        ending.BudgetSpent("cost this turn", "$0.5021", "$0.5000"),
        ending.ModelUnavailable(M, 4, SAID),
        ending.ModelUnknown(M, SAID),
        ending.LoginNeeded(M, SAID),
        ending.OutOfCredit(M, SAID),
        ending.ContextFull(M, SAID),
        ending.ModelRefusedMedia(M, SAID),
        ending.HistoryRefused(M, SAID),
        ending.WrongAddress(M, "There is no model server at http://127.0.0.1:8080/v1. A web page answers there."),
        ending.Refused(M, SAID),
        ending.NothingToSay(M, 5, "Tests passed! Now dispatching task 5:"),
        ending.ReplyCutOff(M, 4),
        ending.ToolConfusion(M, 4, SAID),
        ending.GoingInCircles("read", 9),
        ending.WorkerFailed("acp:codex", ending.WorkerFate.DIED, "it ended with status 1"),
        ending.Faulted("3kjpf2ww"),
    )
}


def entries() -> str:
    """Every kind of entry, and what entries are made of."""
    facts = [kind for kind in get_args(entry.AnyFact) if isinstance(kind, type)]
    parts = (content.Text, content.Thinking, content.Media, content.ToolCall, content.ProviderBlock, content.BlobRef)
    more = (entry.Address, entry.Usage, Failure, entry.Diff, entry.Aged, entry.Reshown, entry.Shortened, entry.Refusal)
    words_of = (
        entry.Arrival,
        entry.StopReason,
        content.CallStatus,
        content.MediaKind,
        content.Form,
        entry.QuestionKind,
        entry.Scope,
        entry.DeliveryStatus,
        FailureKind,
    )
    return page(
        "Entries",
        "A conversation is a list of these, and nothing else. One is stored as JSON with its `kind`; fields that have "
        "their default are left out. `angelia show --json` and `angelia export --format jsonl` print them, each in "
        "its place:",
        _value(entry.Entry),
        "## Facts",
        *map(_value, facts),
        "## What they are made of",
        *map(_value, (*parts, *more)),
        "## Words that fields take",
        *map(_enum, words_of),
    )


def _value(kind: type) -> str:
    rows = [(f"`{f.name}`", f"`{f.type}`", _default(f)) for f in fields(kind)]
    return f"### {kind.__name__}\n\n{words(kind)}" + (
        f"\n\n{table(('field', 'type', 'default'), rows)}" if rows else ""
    )


def _default(field: Field) -> str:
    return f"`{field.default}`" if field.default else "must be given"


def _enum(kind: type) -> str:
    rows = [(f"`{value}`", meaning) for value, meaning in members(kind)]
    return f"### {kind.__name__}\n\n{words(kind)}\n\n{table(('word', 'means'), rows)}"


def _in_chat(one: ending.Ending) -> str:
    """What somebody in a chat reads instead, where it is something else."""
    told = sentence_in_chat(one)
    return "" if told == sentence(one) else f"\n\nIn a chat:\n\n> {told}"


def endings() -> str:
    """Every way a turn can end: what it means, what is said, what a script sees."""
    parts = []
    for kind in get_args(ending.Ending):
        one = EXAMPLES[kind]
        given = ", ".join(f"`{f.name}`" for f in fields(kind))
        parts.append(
            f"### {kind.__name__}\n\n{words(kind)}\n\nHolds {given}. `angelia ask` exits with {exits.code_of(one)}.\n\n"
            f"> {sentence(one)}" + _in_chat(one)
        )
    return page(
        "Endings",
        "A turn ends in exactly one of these ways, and never without a word: the ending and the delivery of its "
        "sentence are one commit. A plain answer needs no sentence; `Answered` has one where it carries a note.",
        "## Exit codes",
        table(("code", "means"), [(f"`{code}`", meaning) for code, meaning in exits.MEANINGS.items()]),
        "A second Ctrl-C leaves at once, with 130.",
        "## What is said",
        *parts,
    )


def turn() -> str:
    """The decision table and the remedies table, as the code runs them."""
    decision = (machine.__doc__ or "").partition("\n\n")[2]
    told, _, rows = decision.partition("\n\n")
    return page(
        "The turn",
        "What `engine/machine.py` decides and what `engine/remedies.py` does about each failure, as the code runs "
        "them. Counts can be set: `[remedies]` in the settings.",
        "## The decision",
        told,
        code("\n".join(line.removeprefix("    ") for line in rows.splitlines())),
        "Read from the top; the first line that fits is the decision.",
        "## The remedies",
        table(
            ("failure", "in words", "remedies, in order", "counted", "ending when spent"), map(_remedies, FailureKind)
        ),
        "## What each remedy does",
        table(("remedy", "what the person reads"), [(f"`{remedy}`", _told(remedy)) for remedy in Remedy]),
        "`next_model`, `next_credential`, `refresh_credential` and `describe` are passed over where there is nothing "
        "to turn to: no `fallback`, a single key, no `key_command` or `key_file`, no `describer`.",
    )


def _remedies(kind: FailureKind) -> tuple[str, ...]:
    row: Row = DEFAULT[kind]
    steps = [f"`{remedy}` ×{most}" for remedy, most in row.remedies]
    steps += [f"then as `{row.otherwise}`"] if row.otherwise else []
    counted = ("since the last usable reply" if row.per_reply else "per turn") if row.remedies else ""
    last = ending_for(Failure(kind), M, 1, "", {})
    return f"`{kind}`", FAILURES[kind], " · ".join(steps) or "none", counted, f"`{type(last).__name__}`"


def _told(remedy: Remedy) -> str:
    used = entry.RemedyUsed(FailureKind.BUSY, remedy)
    return " ".join(line.text for line in TranscriptLines().tell(entry.Entry(1, 0, used)))


def crash_points() -> str:
    """Every named place around a commit or an act."""
    rows = [(f"`{name}`", f"`{place}`", f"`{around}`") for name, place, around in calls_of("crash_point")]
    return page(
        "Crash points",
        "Named places around every commit and every act. They do nothing, until the crash suite ends the process at "
        "one of them: `python -P -m angelia.testing.crash --log FILE --at NAME:OCCURRENCE -- ask …`. See the "
        "[tour](../tour.md) for what happens after each.",
        table(("point", "file", "in"), rows),
    )
