"""The prompt of a full terminal: editing over several lines, history, completion, and a status line."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import in_terminal
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Always, Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, HSplit, Window
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.styles import Style

from angelia.faces.cli.chat.drawn_rows import rows_above_cursor
from angelia.faces.cli.chat.frame_output import FrameOutput
from angelia.faces.cli.chat.input import (
    Act,
    BreakKey,
    EndKey,
    OutputKey,
    Pasted,
    PlanKey,
    PromptFrame,
    QueueKey,
    StopKey,
    TakeBackKey,
    Typed,
)
from angelia.faces.words.call_output import WholeOutput
from angelia.faces.words.mentions import begun_mention
from angelia.faces.words.output import Painted, draw
from angelia.service.files.attachments import pasted_paths

if TYPE_CHECKING:
    from angelia.faces.cli.chat.output_view import OutputView

STYLE = Style.from_dict(
    {
        "mark": "bold",
        "mark.runs": "ansicyan nobold",
        "mark.done": "ansigreen nobold",
        "mark.warning": "bold ansiyellow",
        "thought": "dim",
        "dim": "dim",
        "status": "dim",
        "completion-menu": "noreverse bg:default",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "bold reverse",
        "completion-menu.meta.completion": "bg:default fg:default dim",
        "completion-menu.meta.completion.current": "bg:default fg:default dim",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "reverse",
    }
)
"""As `words/colours.py` means them, in the words of prompt_toolkit."""

ESCAPE_SECONDS = 0.3
"""How long Esc waits for an Enter that makes it Alt-Enter."""

STILL_SECONDS = 0.3
"""How long the size of the window has to stand; tmux tells of a second change 250 ms after it told of the first."""

FRAME_SECONDS = 1 / 12
"""Between two frames in which nothing was typed."""

PICKING = " letters search · Enter, digits take · Esc closes"
"""The last row while something is picked from a list."""

MOST_LISTED = 9
"""Rows of the input with the list below it, at most."""

_LIVE_SHARE = 0.6
"""Of the rows, what happens above the input takes at most this much, and leaves at least `_LEFT_FREE`."""
_LEFT_FREE = 4


class Prompt:
    """One prompt for a whole conversation: it stays while output is printed above it."""

    def __init__(self, history: Path, completer: Completer, around: PromptFrame, hear: Callable[[Act], None]) -> None:
        self._around, self._hear = around, hear
        self._broke = False
        self._shown = asyncio.Event()
        self._error: Exception | None = None
        self._output = FrameOutput()
        self._drawn: Screen | None = None
        self._drawn_for = self._output.get_size()
        self._still = asyncio.Event()
        self._still.set()
        self._settling: asyncio.TimerHandle | None = None
        self._drawn_at = 0.0
        self._last_frame: tuple[list[tuple[str, str]], str, str] = ([], "", "")
        self._frame_of = (-1, self._drawn_for)
        self._refreshing: asyncio.TimerHandle | None = None
        self._rows_kept = 0
        self._picking = ""
        self._view: OutputView | None = None
        self._view_closed = asyncio.Event()
        self._view_closed.set()
        self._leaving = False
        naming = Condition(lambda: _names_something(self._session.default_buffer.document.text_before_cursor))
        self._session: PromptSession[None] = PromptSession(
            self._message,
            multiline=True,
            history=FileHistory(str(history)),
            completer=completer,
            complete_while_typing=naming,
            prompt_continuation="  ",
            key_bindings=merge_key_bindings([self._keys(), self._waiting_keys(), self._picking_keys()]),
            style=STYLE,
            erase_when_done=True,
            enable_open_in_editor=True,
            enable_suspend=True,
            reserve_space_for_menu=1,
            include_default_pygments_style=False,
            output=self._output,
        )
        self._session.layout.current_window.dont_extend_height = Always()
        below = Window(FormattedTextControl(self._status), style="class:status", height=1, dont_extend_height=True)
        rows = self._session.layout.container
        assert isinstance(rows, HSplit)
        rows.children.append(
            below
        )  # the session's own toolbar would vanish until the terminal says where its cursor is
        app = self._session.app
        app.timeoutlen = ESCAPE_SECONDS
        app.ttimeoutlen = 0.05
        app.min_redraw_interval = 0.02
        app.terminal_size_polling_interval = None
        app.before_render += self._before_render
        app.after_render += self._after_render
        self._session.default_buffer.on_text_changed += self._typing

    async def run(self) -> None:
        """See the port; once a second the prompt is drawn anew, for whatever counts seconds."""
        ticking = asyncio.create_task(self._tick())
        try:
            await self._session.prompt_async()
        except EOFError:  # the terminal is gone, or Ctrl-D came before the prompt had it
            self._hear(EndKey())
        finally:
            ticking.cancel()
            self._end_settling()  # what is drawn from now on would take away what is written below it
        if self._error:
            raise self._error

    async def shown(self) -> None:
        """See the port."""
        await self._shown.wait()

    def leave(self, error: Exception | None = None) -> None:
        """See the port."""
        self._error = self._error or error
        if self._view:
            self._leaving = True
            self._view.close()
        elif self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit()

    def pick(self, command: str) -> bool:
        """See the port."""
        buffer = self._session.default_buffer
        if buffer.text:
            return False
        self._picking = command
        buffer.insert_text(command)
        buffer.start_completion(select_first=False)
        return True

    def put_back(self, text: str) -> None:
        """See the port."""
        buffer = self._session.default_buffer
        more = f"\n{buffer.text}" if buffer.text else ""
        buffer.document = Document(text + more, len(text))

    async def view(self, whole: WholeOutput) -> bool:
        """See the port. The terminal's other screen is taken for it, so that nothing of it stays."""
        from angelia.faces.cli.chat.output_view import OutputView

        await self._still.wait()
        self._view = OutputView(whole, self._around.before)
        self._view_closed.clear()
        try:
            with set_app(self._session.app):
                self._clear()
                async with in_terminal():
                    await self._view.run()
        finally:
            self._view = None
            self._view_closed.set()
        if self._leaving:
            self.leave()
        return True

    def refresh(self) -> None:
        """See the port. What is typed is shown at once, anything else a few times a second."""
        if self._refreshing is None:
            loop = asyncio.get_running_loop()
            self._refreshing = loop.call_at(max(loop.time(), self._drawn_at + FRAME_SECONDS), self._refresh)

    def _refresh(self) -> None:
        self._refreshing = None
        if self._view:
            self._view.refresh()
        self._session.app.invalidate()

    def write(self, text: Painted) -> None:
        """See the port. The terminal stays as it is for keys: what is typed meanwhile is neither echoed nor lost."""
        app = self._session.app
        if not app.is_running:
            draw(text)
            return
        self._resume()
        with self._output.frame(), set_app(app):
            self._clear()
            self._output.write_raw(text)
            self._rows_kept = max(self._rows_kept - text.count("\n"), 0)
            app.render_counter += 1  # what the layout remembers of the last frame is out of date
            app.renderer.render(app, app.layout)
            self._drawn = app.renderer.last_rendered_screen

    async def still(self) -> None:
        """See the port."""
        while not (self._still.is_set() and self._view_closed.is_set()):
            await self._still.wait()
            await self._view_closed.wait()

    # A terminal that becomes narrower or wider wraps by itself what stands there, and tells us afterwards: tmux up to
    # 250 ms later, if it was resized twice. So what is drawn meanwhile would be drawn at the wrong place. From the
    # first sign of a change until the size has stood for a while nothing is written; then what was drawn is taken
    # away, by the rows that it has now, and drawn anew.

    def _resized(self) -> None:
        self._output.silent = True
        self._still.clear()
        if self._settling:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(STILL_SECONDS, self._settle)

    def _settle(self) -> None:
        self._resume()
        self._session.app.invalidate()

    def _resume(self) -> None:
        """Write again; the next frame is whole."""
        if self._end_settling():
            self._rows_kept = 0
            with self._output.frame():
                self._clear()

    def _end_settling(self) -> bool:
        """Whether it was waited for until the size stands; it is no more."""
        if self._settling is None:
            return False
        self._settling.cancel()
        self._settling = None
        self._output.silent = False
        self._still.set()
        return True

    def _clear(self) -> None:
        """Take away what is drawn, so that the next frame begins where it began."""
        app, size = self._session.app, self._output.get_size()
        if self._drawn:
            self._output.cursor_backward(size.columns)
            self._output.cursor_up(rows_above_cursor(self._drawn, app.layout.current_window, size.columns))
            self._output.erase_end_of_line()
            self._output.cursor_down(1)
            self._output.erase_down()  # from the first row of the screen tmux would keep what it erases
            self._output.cursor_up(1)
            self._output.reset_attributes()
        self._drawn = None
        self._drawn_for = size
        app.renderer.reset()

    def _before_render(self, _: object) -> None:
        app, size = self._session.app, self._output.get_size()
        if size != self._drawn_for and self._drawn:
            self._resized()
        self._output.begin()
        self._reserve_rows()
        screen = None if self._output.silent else app.renderer.last_rendered_screen
        if screen and app.layout.container.preferred_height(size.columns, size.rows).preferred < screen.height:
            self._clear()  # prompt_toolkit would keep the height

    def _reserve_rows(self) -> None:
        """Rows for the list below the input: as many as it needs, and no fewer while it is open."""
        state = self._session.default_buffer.complete_state
        wanted = min(len(state.completions) + 1, MOST_LISTED) if state else 1
        open_ = state is not None or _names_something(self._session.default_buffer.document.text_before_cursor)
        self._session.reserve_space_for_menu = max(self._session.reserve_space_for_menu, wanted) if open_ else 1

    def _after_render(self, _: object) -> None:
        self._output.end()
        if not self._output.silent:
            self._drawn = self._session.app.renderer.last_rendered_screen
            self._drawn_for = self._output.get_size()
        loop = asyncio.get_running_loop()
        self._drawn_at = loop.time()
        if not self._shown.is_set():
            self._shown.set()
            # in place of prompt_toolkit's own, which clears by the rows that it drew
            loop.add_signal_handler(signal.SIGWINCH, self._resized)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(1)
            if self._frame() != self._last_frame:
                self.refresh()

    def _frame(self) -> tuple[list[tuple[str, str]], str, str]:
        """What stands around the input now: above, before and below it."""
        size = self._output.get_size()
        rows = max(min(size.rows - _LEFT_FREE, int(size.rows * _LIVE_SHARE)), 3)
        around = self._around
        return around.above(size.columns, rows), around.before(), around.below(size.columns)

    def _message(self) -> StyleAndTextTuples:
        """What stands above and before the input. Where it has become lower it begins with empty rows, which what is
        printed next takes: the input stands still. It is asked for a dozen times while one frame is drawn, and is made
        once for it.
        """
        drawing = self._session.app.render_counter, self._output.get_size()
        if drawing != self._frame_of:
            self._last_frame, self._frame_of = self._frame(), drawing
        above, before, _ = self._last_frame
        height = sum(text.count("\n") for _, text in above)
        self._rows_kept = max(height, self._rows_kept)
        return [("", "\n" * (self._rows_kept - height)), *above, ("class:mark", before)]

    def _status(self) -> str:
        return PICKING if self._picking else self._last_frame[2]

    def _typing(self, buffer: Buffer) -> None:
        if buffer.text:
            self._broke = False
        if not buffer.text.startswith(self._picking):
            self._picking = ""

    def _choose(self, buffer: Buffer, number: int) -> None:
        """Take what is picked: what is marked in the list, else this one of it, from 0."""
        state = buffer.complete_state
        if state and state.current_completion is None:
            if number >= len(state.completions):
                return
            buffer.apply_completion(state.completions[number])
        self._hear(Typed(self._taken(buffer)))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        writing = has_focus("DEFAULT_BUFFER")
        empty = Condition(lambda: not self._session.default_buffer.text)

        @keys.add("enter", filter=writing)
        def enter(event: KeyPressEvent) -> None:
            self._enter(event.current_buffer)

        @keys.add("escape", "enter", filter=writing)
        def new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("escape", filter=writing)
        def stop(event: KeyPressEvent) -> None:
            self._hear(StopKey())

        @keys.add("c-c", filter=writing)
        @keys.add("<sigint>")
        def interrupt(event: KeyPressEvent) -> None:
            self._interrupt()

        @keys.add("c-d", filter=writing & empty)
        def end(event: KeyPressEvent) -> None:
            self._hear(EndKey())

        @keys.add("c-o", filter=writing)
        def output(event: KeyPressEvent) -> None:
            self._hear(OutputKey())

        @keys.add("c-t", filter=writing)
        def plan(event: KeyPressEvent) -> None:
            self._hear(PlanKey())

        @keys.add("c-g", filter=writing)
        def editor(event: KeyPressEvent) -> None:
            event.current_buffer.open_in_editor()

        @keys.add(Keys.BracketedPaste, filter=writing)
        def paste(event: KeyPressEvent) -> None:
            text = event.data.replace("\r\n", "\n").replace("\r", "\n")
            if paths := pasted_paths(text):
                self._hear(Pasted(paths))
            else:
                event.current_buffer.insert_text(text)

        return keys

    def _waiting_keys(self) -> KeyBindings:
        """What lets a message wait, and what takes it back."""
        keys = KeyBindings()
        writing = has_focus("DEFAULT_BUFFER")
        typed = Condition(lambda: bool(self._session.default_buffer.text))

        @keys.add("escape", "q", filter=writing & typed)
        def queue(event: KeyPressEvent) -> None:
            self._hear(QueueKey(self._taken(event.current_buffer)))

        @keys.add("escape", "up", filter=writing)
        def take_back(event: KeyPressEvent) -> None:
            self._hear(TakeBackKey())

        return keys

    def _picking_keys(self) -> KeyBindings:
        """What keys do while something is picked; they go before the others."""
        keys = KeyBindings()
        picking = Condition(lambda: bool(self._picking)) & has_focus("DEFAULT_BUFFER")
        unfiltered = Condition(lambda: self._session.default_buffer.text == self._picking)

        @keys.add("enter", filter=picking)
        def choose(event: KeyPressEvent) -> None:
            self._choose(event.current_buffer, 0)

        @keys.add("backspace", filter=picking)
        def less(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            buffer.delete_before_cursor()
            if self._picking:
                buffer.start_completion(select_first=False)
            else:
                buffer.reset()

        @keys.add("escape", filter=picking)
        def close(event: KeyPressEvent) -> None:
            self._picking = ""
            event.current_buffer.reset()

        for digit in "123456789":

            @keys.add(digit, filter=picking & unfiltered)
            def take(event: KeyPressEvent) -> None:
                self._choose(event.current_buffer, int(event.data) - 1)

        return keys

    def _interrupt(self) -> None:
        """Ctrl-C: what is typed is thrown away, and what runs goes on; where nothing is typed, stop it."""
        if self._session.default_buffer.text:
            self._picking = ""
            self._session.default_buffer.reset()
            return
        again, self._broke = self._broke, True
        self._hear(BreakKey(again))

    def _enter(self, buffer: Buffer) -> None:
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
            return
        self._hear(Typed(self._taken(buffer)))

    def _taken(self, buffer: Buffer) -> str:
        text = buffer.text
        buffer.append_to_history()
        buffer.reset()
        self._picking = ""
        self._broke = False
        return text


def _names_something(before: str) -> bool:
    """Whether a command or a file is being typed, so that those that there are are offered."""
    return before.startswith("/") or begun_mention(before) is not None
