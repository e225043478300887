"""The prompt of a full terminal: editing over several lines, history, completion, and a status line."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Always, Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, HSplit, Window
from prompt_toolkit.styles import Style

from angelia.faces.cli.chat.input import Act, BreakKey, EndKey, Pasted, PromptFrame, StopKey, Typed
from angelia.faces.words.output import Painted, draw
from angelia.service.files.attachments import pasted_paths

STYLE = Style.from_dict(
    {
        "mark": "bold ansicyan",
        "thought": "italic ansibrightblack",
        "dim": "ansibrightblack",
        "running": "ansicyan",
        "warning": "ansiyellow",
        "question": "bold ansiyellow",
        "status": "ansibrightblack",
    }
)

ESCAPE_SECONDS = 0.3
"""How long Esc waits for an Enter that makes it Alt-Enter."""

_LEFT_FREE = 6
"""Rows that what happens above the input never takes."""


class Prompt:
    """One prompt for a whole conversation: it stays while output is printed above it."""

    def __init__(self, history: Path, completer: Completer, around: PromptFrame, hear: Callable[[Act], None]) -> None:
        self._around, self._hear = around, hear
        self._broke = False
        self._shown = asyncio.Event()
        self._error: Exception | None = None
        commanding = Condition(lambda: self._session.default_buffer.text.startswith("/"))
        self._session: PromptSession[None] = PromptSession(
            self._message,
            multiline=True,
            history=FileHistory(str(history)),
            completer=completer,
            complete_while_typing=commanding,
            prompt_continuation="  ",
            key_bindings=self._keys(),
            style=STYLE,
            erase_when_done=True,
            enable_open_in_editor=True,
            enable_suspend=True,
            include_default_pygments_style=False,
        )
        self._session.layout.current_window.dont_extend_height = Always()
        below = Window(FormattedTextControl(self._status), style="class:status", height=1, dont_extend_height=True)
        rows = self._session.layout.container
        assert isinstance(rows, HSplit)
        rows.children.append(
            below
        )  # the session's own toolbar would vanish until the terminal says where its cursor is
        self._session.app.timeoutlen = ESCAPE_SECONDS
        self._session.app.ttimeoutlen = 0.05
        self._session.app.min_redraw_interval = 0.04
        self._session.app.after_render += lambda _: self._shown.set()
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
        if self._error:
            raise self._error

    async def shown(self) -> None:
        """See the port."""
        await self._shown.wait()

    def leave(self, error: Exception | None = None) -> None:
        """See the port."""
        self._error = self._error or error
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit()

    def refresh(self) -> None:
        """See the port."""
        self._session.app.invalidate()

    def write(self, text: Painted) -> None:
        """See the port. The terminal stays as it is for keys: what is typed meanwhile is neither echoed nor lost."""
        app = self._session.app
        if app.is_running:
            app.renderer.erase()
        draw(text)
        if app.is_running:
            app.renderer.request_absolute_cursor_position()
            with set_app(app):
                app.renderer.render(app, app.layout)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.refresh()

    def _message(self) -> StyleAndTextTuples:
        size = self._session.app.output.get_size()
        above = self._around.above(size.columns, max(size.rows - _LEFT_FREE, 3))
        return [*above, ("class:mark", self._around.before())]

    def _status(self) -> str:
        return self._around.below(self._session.app.output.get_size().columns)

    def _typing(self, buffer: Buffer) -> None:
        if buffer.text:
            self._broke = False

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
            again, self._broke = self._broke, True
            self._session.default_buffer.reset()
            self._hear(BreakKey(again))

        @keys.add("c-d", filter=writing & empty)
        def end(event: KeyPressEvent) -> None:
            self._hear(EndKey())

        @keys.add(Keys.BracketedPaste, filter=writing)
        def paste(event: KeyPressEvent) -> None:
            text = event.data.replace("\r\n", "\n").replace("\r", "\n")
            if paths := pasted_paths(text):
                self._hear(Pasted(paths))
            else:
                event.current_buffer.insert_text(text)

        return keys

    def _enter(self, buffer: Buffer) -> None:
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
            return
        text = buffer.text
        buffer.append_to_history()
        buffer.reset()
        self._broke = False
        self._hear(Typed(text))
