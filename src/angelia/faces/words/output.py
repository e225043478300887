"""The one place where the command line writes to the terminal.

What is shown came from somewhere: a stranger's name, a server's answer, a file. So the rule is not where text has to
be made safe but what may be written at all, and there are four ways:

* `echo`: any text, made visible (`core/visible.py`). It is what everybody uses.
* `draw`: text that `Paint` or `pictures` made: visible first, then our own colours. `Painted` says so to the type
  checker, and a house rule says who may make it.
* `echo_json`: JSON, in which such characters are escaped and lose nothing.
* `hand_over`: bytes that the person wants elsewhere. A pipe gets them as they are; a terminal gets them visible.

`guard` puts the first of these before whatever else might write: tracebacks, warnings, libraries. The one exception is
`angelia sandbox shell`: there the person's own terminal talks to a shell of theirs (`terminal.py`).
"""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NewType, TextIO

from angelia.core.visible import visible, visible_line

Painted = NewType("Painted", str)
"""Visible text with escape sequences of our own."""


def clipboard(text: str) -> Painted:
    """What puts a text into the clipboard of a terminal that lets programs do that (xterm's OSC 52)."""
    from base64 import b64encode

    return Painted(f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07")


def call_for_person(words: str) -> Painted:
    """The bell (ECMA-48, 8.3.3), which sounds or marks the window as the person has set it, and a message of the
    desktop, where the terminal shows such (OSC 9, of iTerm2 and others).
    """
    return Painted(f"\x07\x1b]9;{visible_line(words)}\x07")


LINE_CLEARED = Painted("\r\x1b[K")
"""The line on which the cursor stands is empty (ECMA-48, 8.3.41)."""


def rows_cleared(count: int) -> Painted:
    """The last `count` rows are empty, and the cursor stands on the first of them (ECMA-48, 8.3.23 and 8.3.39)."""
    return Painted(f"\x1b[{count}F\x1b[J")


class _Guarded(io.TextIOWrapper):
    """A standard stream on which nothing but visible text is written."""

    def write(self, text: str) -> int:
        """Write it, visible; says how much was taken, which is all."""
        with _lost(told=self is sys.stdout):
            super().write(visible(text))
        return len(text)

    def flush(self) -> None:
        """See `io.TextIOWrapper`."""
        with _lost(told=self is sys.stdout):
            super().flush()


@contextmanager
def _lost(*, told: bool) -> Iterator[None]:
    """What standard output does not take is told; where errors are not taken, nobody can be told, and work goes on.

    Raises:
        OutputLost: the disk is full, or the stream was closed when we were begun.
        BrokenPipeError: whoever read has gone.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if told:
            from angelia.core.errors import OutputLost  # a version is told without it

            raise OutputLost(error) from error


def open_streams() -> None:
    """Standard streams that were closed when we were begun, lest the first files that are opened take their place.

    What is read there is empty. What is written is refused by the system, as on a stream that is closed, since its
    file is open for reading alone; errors go nowhere.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            at = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)  # the lowest that is free: this one
            os.set_inheritable(at, True)
            stream = open(at, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # who holds what is beneath the guard, so that it is not closed


def guard() -> None:
    """From now on standard output and error show visible text, whoever writes there."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, _Guarded):
            stream.flush()
            lines = stream.line_buffering
            setattr(sys, name, _Guarded(stream.buffer, stream.encoding, "backslashreplace", line_buffering=lines))


def echo(text: object = "", *, err: bool = False, end: str = "\n") -> None:
    """Show a text, on standard error if it is `err`."""
    _write(visible(str(text).replace("\r\n", "\n")) + end, err)


def draw(text: Painted, *, err: bool = False) -> None:
    """Show what is painted."""
    _write(text, err)


def echo_json(data: bytes) -> None:
    r"""Show a value that is written as JSON, with its newline. What is not seen is escaped, so nothing is lost.

    >>> escaped('{"a": "\x9b\u202e\U000e0041é"}')
    '{"a": "\\u009b\\u202e\\udb40\\udc41é"}'
    """
    _write(escaped(data.decode()) + "\n", err=False)


def escaped(json_text: str) -> str:
    """JSON with an escape for each character that is no sign; such characters stand within strings only."""
    if json_text.isprintable():
        return json_text
    return "".join(one if one.isprintable() or one == "\n" else _unit_escapes(one) for one in json_text)


def _unit_escapes(character: str) -> str:
    """In UTF-16 units, as JSON has it (RFC 8259, 7)."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def hand_over(data: bytes) -> None:
    """Bytes as they are, where no terminal obeys them; a terminal shows them as visible text."""
    if sys.stdout.isatty():
        _write(visible(data.decode(errors="replace").replace("\r\n", "\n")), err=False)
        return
    sys.stdout.flush()
    with _lost(told=True):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def canvas() -> TextIO:
    """Standard error for a library that draws with sequences of its own; it is given nothing that is not visible."""
    return sys.__stderr__ or sys.stderr


def sure(question: str, *, usual: bool = False) -> bool:
    """Ask the person for a y or an n, on standard error; `usual` is what an empty line means."""
    import click

    return click.confirm(visible(question), default=usual, err=True)


def asked(question: str, *, usual: str = "", hidden: bool = False, err: bool = False) -> str:
    """Ask the person for a line; `usual` is what an empty one means."""
    import click

    usual = visible(usual)
    if hidden and not _has_terminal():  # a line that was piped in is shown nowhere by itself
        echo(f"{question}: ", err=err, end="")
        if not (line := sys.stdin.readline()):
            raise click.Abort
        return line.rstrip("\r\n") or usual
    typed = click.prompt(visible(question), default=usual, show_default=bool(usual), hide_input=hidden, err=err)
    return str(typed)


def _has_terminal() -> bool:
    """Whether there is one whose echo can be switched off."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return sys.stdin.isatty()
    return True


def chosen(question: str, among: Sequence[str]) -> str:
    """Ask the person for one of some words, until it is one of them."""
    import click

    return str(click.prompt(visible(question), type=click.Choice(among)))


def one_key(question: str, among: str) -> str:
    """Ask the person for one of some keys, without Enter; the last of them is what Ctrl-C and Ctrl-D mean."""
    import click

    while True:
        _write(f"{visible(question)} ", err=True)
        try:
            typed = click.getchar().lower()
        except (KeyboardInterrupt, EOFError):
            typed = among[-1]
        _write("\n", err=True)
        if len(typed) == 1 and typed in among:
            return typed


def _write(text: str, err: bool) -> None:
    """Past the guard, and at once. An encoding that cannot say a sign gets its number."""
    stream = sys.stderr if err else sys.stdout
    if isinstance(stream, _Guarded):
        stream.flush()
        with _lost(told=not err):
            stream.buffer.write(text.encode(stream.encoding, "backslashreplace"))
    else:
        stream.write(text)
    stream.flush()
