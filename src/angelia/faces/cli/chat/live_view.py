"""What happens at this moment: the part of the screen that is replaced, never scrolled."""

import time
from collections.abc import Callable

from msgspec import Struct

from angelia.context.media_forms import label
from angelia.context.media_lines import while_written, without_files
from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.ids import CallId
from angelia.core.visible import visible, visible_line
from angelia.engine.live import (
    Awaiting,
    CallComing,
    Committed,
    LiveEvent,
    Resting,
    Thinks,
    Working,
    WorkingShows,
    Writing,
)
from angelia.faces.words.transcript_lines import TranscriptLines
from angelia.faces.words.wait_lines import awaiting_words, resting_words
from angelia.faces.words.widths import wrapped
from angelia.tools.shell.output import plain

Styled = tuple[str, str]
"""A prompt_toolkit style and some text."""

_KEPT = 20_000
"""Characters of a running reply that are kept for showing; the whole is in the log when it is finished."""


_ENDS_WAITING = (e.ModelAsked, e.ModelSaid, e.ModelFailed, e.TurnClosed)


class _Running(Struct):
    """A call that runs: in words, since when (monotonic seconds), and the last line that it wrote."""

    words: str
    since: float
    last: str = ""


class LiveView:
    """Fed with live events; what it shows is gone as soon as the entry that replaces it is printed."""

    def __init__(self, transcript: TranscriptLines, clock: Callable[[], float] = time.monotonic) -> None:
        self._transcript, self._clock = transcript, clock
        self._text = ""
        self._thought = ""
        self._coming = ""
        self._running: dict[CallId, _Running] = {}
        self._resting: Resting | None = None
        self._awaiting: Awaiting | None = None
        self._joins = False

    def see(self, event: LiveEvent) -> None:
        """Take in one event."""
        self._awaiting = self._still_awaited(event)
        match event:
            case Writing(text=text):
                self._thought, self._text = "", (self._text + text)[-_KEPT:]
            case Thinks(text=text):
                self._thought = (self._thought + text)[-_KEPT:]
            case CallComing(name=name):
                self._coming = name
            case Working(call=call, text=text):
                if (running := self._running.get(call)) and (lines := plain(text).split("\n")):
                    running.last = next((line for line in reversed(lines) if line.strip()), running.last)
            case WorkingShows(call=call, media=media):
                if running := self._running.get(call):
                    running.last = f"shows {label(media)}"
            case Resting():
                self._resting = event
            case Committed(entries=entries):
                for entry in entries:
                    self._committed(entry.fact)
            case _:
                pass

    def _still_awaited(self, event: LiveEvent) -> Awaiting | None:
        """What nothing has come of yet, after this event."""
        match event:
            case Awaiting():
                return event
            case Writing() | Thinks() | CallComing():
                return None
            case Committed(entries=entries) if any(isinstance(entry.fact, _ENDS_WAITING) for entry in entries):
                return None
            case _:
                return self._awaiting

    def _committed(self, fact: e.AnyFact) -> None:
        match fact:
            case e.ModelAsked():
                self._resting = None
                self._coming = ""
                self._thought = ""
                self._text = self._text if self._joins else ""
                self._joins = False
            case e.ModelSaid(parts=parts, stop=stop):
                self._coming = self._thought = ""
                self._joins = stop in (e.StopReason.LENGTH, e.StopReason.PAUSE)
                if any(isinstance(part, ToolCall) for part in parts):
                    self._text = ""
            case e.FilesNamed(files=files):
                self._text = without_files(self._text, {file.place for file in files})
            case e.ModelFailed():
                self._text = ""
                self._coming = ""
                self._thought = ""
            case e.ToolStarted(call=call):
                self._running[call] = _Running(self._transcript.calls.get(call, call), self._clock())
            case e.ToolFinished(call=call):
                self._running.pop(call, None)
            case e.TurnClosed():
                self._text = ""
                self._coming = ""
                self._thought = ""
                self._resting = None
                self._running.clear()
            case _:
                pass

    def shown(self, columns: int, rows: int) -> list[Styled]:
        """At most `rows` lines of at most `columns` cells, each ended by a newline: the end of what there is."""
        lines: list[Styled] = [("class:thought", line) for line in wrapped(visible(self._thought), columns - 2)[-2:]]
        lines += [("", line) for line in wrapped(visible(while_written(self._text)), columns)]
        if self._coming and not self._running:
            lines.append(("class:dim", f"… {visible_line(self._coming)}"))
        for running in self._running.values():
            seconds = int(self._clock() - running.since)
            took = f" · {seconds} s" if seconds else ""
            lines += [("class:running", line) for line in wrapped(f"▸ {visible(running.words)}{took}", columns)[:2]]
            lines += [("class:dim", f"  {line}") for line in wrapped(visible(running.last), columns - 2)[:1]]
        if self._awaiting:
            words = awaiting_words(self._awaiting, "Esc stops")
            lines += [("class:dim", line) for line in wrapped(visible(words), columns)[:2]]
        if self._resting:
            words = resting_words(self._resting, "Esc stops")
            lines += [("class:warning", line) for line in wrapped(visible(words), columns)[:3]]
        return [(style, f"{line}\n") for style, line in lines[-rows:]]
