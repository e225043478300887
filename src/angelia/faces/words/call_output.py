"""What a call wrote, as much of it as is shown at once; the whole can be asked for."""

import re
from collections.abc import Sequence

from msgspec import Struct

from angelia.core.content import CallStatus, Text
from angelia.core.counts import counted
from angelia.core.entry import ToolFinished
from angelia.faces.words.transcript_lines import WORTH_TELLING, Tone, TranscriptLine

LAST = 10
"""Lines of a failed call's output that are shown: errors stand at the end."""
OWN_LINES = 20
"""Lines of what the person ran themselves: they wanted to see them."""
DIFF_LINES = 20
"""Lines of a change that are shown."""

_EXIT = re.compile(r"\[([^\]\n]{1,80})\]")


class CallOutput(Struct, frozen=True):
    """A finished call in words, what it wrote, as far as the model was shown it, and how it ended, if that was said."""

    words: str
    finished: ToolFinished
    text: str
    ended: str


def call_output(words: str, finished: ToolFinished) -> CallOutput:
    """What a call wrote, apart from the line about how it ended."""
    whole = "\n".join(part.text for part in finished.parts if isinstance(part, Text)).rstrip()
    body, _, last = whole.rpartition("\n")
    if found := _EXIT.fullmatch(last):
        return CallOutput(words, finished, body.rstrip(), found[1].replace("exit status", "exit"))
    return CallOutput(words, finished, whole, "")


def failure_lines(output: CallOutput) -> list[TranscriptLine]:
    """A failed call: how it ended, how long it took, and the end of what it wrote."""
    finished, lines = output.finished, output.text.split("\n") if output.text.strip() else []
    took = f"{finished.seconds:.1f} s" if finished.seconds >= WORTH_TELLING else ""
    count = f"{len(lines)} lines" if len(lines) > 1 else ""
    head = " · ".join(word for word in (output.words, output.ended or str(finished.status), took, count) if word)
    told = [TranscriptLine(Tone.FAILED, head)]
    if len(lines) > LAST:
        told.append(
            TranscriptLine(Tone.NOTE, f"{counted(len(lines) - LAST, 'more line')} above · Ctrl-O or /view shows all")
        )
    return [*told, *([TranscriptLine(Tone.OUTPUT, "\n".join(lines[-LAST:]))] if lines else [])]


def own_lines(output: CallOutput, then: str) -> list[TranscriptLine]:
    """What a command of the person's own wrote, the end of it where it is long; how it ended, and what `then`."""
    status = output.finished.status
    if status is CallStatus.CANCELLED:
        return [TranscriptLine(Tone.NOTE, f"stopped · {then}")]
    lines = output.text.split("\n") if output.text.strip() else []
    told = [TranscriptLine(Tone.OUTPUT, "\n".join(lines[-OWN_LINES:]))] if lines else []
    if len(lines) > OWN_LINES:
        more = f"{counted(len(lines) - OWN_LINES, 'more line')} above · Ctrl-O or /view shows all"
        told.insert(0, TranscriptLine(Tone.NOTE, more))
    ended = "" if status is CallStatus.OK else output.ended or str(status)
    return [*told, TranscriptLine(Tone.NOTE, " · ".join(word for word in (ended, then) if word))]


def shows_end(finished: ToolFinished) -> bool:
    """Whether the end of the output is shown: a call that ran, and failed."""
    return finished.status in (CallStatus.ERROR, CallStatus.CANCELLED)


def cut_diffs(lines: Sequence[TranscriptLine]) -> list[TranscriptLine]:
    """The lines of a call that changed files, long changes only with their beginning."""
    told = []
    for line in lines:
        rows = line.text.split("\n")
        if line.tone is Tone.DIFF and len(rows) > DIFF_LINES:
            told.append(TranscriptLine(Tone.DIFF, "\n".join(rows[:DIFF_LINES])))
            told.append(
                TranscriptLine(Tone.NOTE, f"{counted(len(rows) - DIFF_LINES, 'more line')} · Ctrl-O or /view shows all")
            )
        else:
            told.append(line)
    return told


class WholeOutput(Struct, frozen=True):
    """The whole of what a call wrote and changed, under its `title`; `at_end`: what matters stands at its end."""

    title: str
    text: str
    diff: str
    at_end: bool


def whole_output(output: CallOutput, text: str) -> WholeOutput:
    """The whole of it, where `text` is all that it wrote."""
    from angelia.tools.files.changes import diff_text

    text, diff = text.rstrip(), "\n".join(diff_text(one.old, one.new) for one in output.finished.diffs)
    lines = text.count("\n") + 1
    count = "all" if diff or not text else "1 line" if lines == 1 else f"{lines} lines"
    title = f"{count} of: {output.words}"
    return WholeOutput(title, text, diff, shows_end(output.finished))


def whole_lines(whole: WholeOutput) -> list[TranscriptLine]:
    """As lines of the transcript."""
    told = [TranscriptLine(Tone.NOTE, whole.title)]
    told += [TranscriptLine(Tone.OUTPUT, whole.text)] if whole.text else []
    return [*told, *([TranscriptLine(Tone.DIFF, whole.diff)] if whole.diff else [])]
