"""What IRC can do, and how its people's programs show emphasis (modern.ircdocs.horse, "IRC Formatting")."""

from angelia.channels.capabilities import Capabilities, IncomingKind, Kind, NativeMethod, Never, Units
from angelia.channels.irc.wire import bare
from angelia.channels.markup.marks import PlainText

TEXT = 380
"""Bytes that fit one line under nicks and channels of common length, wherever the server says that we are."""

_NO_FILES = "IRC carries words alone"
_NO_CHANGES = "what was said on IRC stays as it was said"
_LINES = "an IRC line stands by itself"


def capabilities() -> Capabilities:
    """The same on every server: what only some of them have is not counted on."""
    return Capabilities(
        ways={
            **dict.fromkeys(Kind, Never(_NO_FILES)),
            Kind.TEXT: NativeMethod("PRIVMSG"),
            Kind.TYPING: Never("few servers pass it on"),
            Kind.EDIT: Never(_NO_CHANGES),
            Kind.DRAFT: Never(_LINES),
            Kind.DELETE: Never(_NO_CHANGES),
            Kind.REACTION: Never(_LINES),
            Kind.REPLY: Never(_LINES),
            Kind.THREAD: Never(_LINES),
            Kind.BUTTONS: Never(_LINES),
        },
        hears={
            **dict.fromkeys(IncomingKind, Never(_NO_FILES)),
            IncomingKind.TEXT: NativeMethod("PRIVMSG"),
            IncomingKind.COMMAND: NativeMethod("PRIVMSG"),
            IncomingKind.LOCATION: Never("IRC has none"),
            IncomingKind.CONTACT: Never("IRC has none"),
            IncomingKind.EDIT: Never(_NO_CHANGES),
            IncomingKind.DELETION: Never(_NO_CHANGES),
            IncomingKind.REACTION: Never(_LINES),
            IncomingKind.BUTTON: Never(_LINES),
        },
        text_limit=TEXT,
        units=Units.BYTES,
    )


class IrcMarks(PlainText):
    """Toggles around words, on each line anew, since a line's end ends them. A program that knows none shows none."""

    name = "irc"

    def text(self, words: str) -> str:
        """As the port says."""
        return bare(words)

    def strong(self, inner: str) -> str:
        """As the port says."""
        return _on_each_line("\x02", inner)

    def emphasis(self, inner: str) -> str:
        """As the port says."""
        return _on_each_line("\x1d", inner)

    def struck(self, inner: str) -> str:
        """As the port says."""
        return _on_each_line("\x1e", inner)

    def code(self, words: str) -> str:
        """As the port says."""
        return _on_each_line("\x11", bare(words))

    def code_block(self, words: str, language: str) -> str:
        """As the port says."""
        return self.code(words)

    def link(self, inner: str, url: str) -> str:
        """As the port says."""
        return super().link(inner, bare(url))

    def heading(self, inner: str, level: int) -> str:
        """A strong line."""
        return inner if "\x02" in inner else self.strong(inner)


def _on_each_line(mark: str, inner: str) -> str:
    return "\n".join(f"{mark}{line}{mark}" if line.strip() else line for line in inner.split("\n"))
