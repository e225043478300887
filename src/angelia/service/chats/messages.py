"""The messages of one delivery, ready to be sent: what `channels.plan` planned, with bytes, buttons and replies."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.capabilities import Kind, NativeMethod
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.reader import read_markdown
from angelia.channels.markup.tree import Paragraph
from angelia.channels.outgoing import Button, OutAlbum, OutFile, Outgoing, OutText
from angelia.channels.plan import CannotPiece, FilePiece, Piece, TextPiece, plan
from angelia.channels.port import Channel, abilities_for
from angelia.core import entry as e
from angelia.core.content import Content, Media, MediaKind, Text
from angelia.core.text import one_line
from angelia.service.files.links import LinkTo
from angelia.store.tables.outbox import Receipt

AGAIN = "↻ Sent again, since nobody knows whether it arrived:"

PathOf = Callable[[Media], Path]
"""Where the bytes lie that go out for a medium: its own, or a picture's without its metadata."""


class CannotSend(Struct, frozen=True):
    """A message that cannot be made, because of `why`."""

    why: str


def messages(
    receipt: Receipt, channel: Channel, path_of: PathOf, link: LinkTo | None = None
) -> tuple[Outgoing | CannotSend, ...]:
    """What goes out for a delivery, in order: the same each time, so that a later life finds its place. A link may end
    later each time, and is as long.
    """
    capabilities, dialect = abilities_for(channel, receipt.address), channel.dialect
    parts = receipt.parts if _has_buttons_for(receipt, channel) else _numbered(receipt)
    planned = plan(parts, capabilities, dialect, partial(link, receipt) if link else None)
    made = [message for piece in planned for message in _messages(piece, channel, path_of)]
    buttons = tuple(Button(choice.label, choice.value) for choice in receipt.choices)
    if buttons and parts is receipt.parts:
        last = max((number for number, one in enumerate(made) if isinstance(one, OutText)), default=-1)
        made = [replace(one, buttons=buttons) if number == last else one for number, one in enumerate(made)]
    if made and receipt.reply_to and not isinstance(made[0], CannotSend):
        made[0] = replace(made[0], reply_to=receipt.reply_to)
    return tuple(made)


def _has_buttons_for(receipt: Receipt, channel: Channel) -> bool:
    way = channel.capabilities.ways[Kind.BUTTONS]
    return not receipt.choices or (isinstance(way, NativeMethod) and (not way.most or len(receipt.choices) <= way.most))


def _numbered(receipt: Receipt) -> tuple[Content, ...]:
    """A question with its choices as numbers to type, where the network has no buttons or not enough of them; a text
    that ends within code has them behind it.
    """
    lines = "\n".join(f"{number}. {choice.label}" for number, choice in enumerate(receipt.choices, 1))
    numbers = f"{lines}\n\nAnswer with the number."
    match receipt.parts:
        case (*before, Text(text=asked)) if isinstance(read_markdown(f"{asked}\n\n{numbers}")[-1], Paragraph):
            return (*before, Text(f"{asked}\n\n{numbers}"))
        case parts:
            return (*parts, Text(numbers))


def _messages(piece: Piece, channel: Channel, path_of: PathOf) -> Iterator[Outgoing | CannotSend]:
    match piece:
        case TextPiece(marked=marked, plain=plain):
            yield OutText(plain, marked)
        case FilePiece():
            file = _file(piece, path_of)
            noted = _with_note(file, piece.note, channel)
            yield noted or file
            if noted is None and piece.note:
                yield OutText(f"({piece.note})")
        case CannotPiece(because=because):
            yield CannotSend(because)


def _with_note(file: OutFile, note: str, channel: Channel) -> OutFile | None:
    """The file with a word on why it changed its shape beneath it; None where it takes none."""
    way = channel.capabilities.ways[file.kind]
    most = way.caption if isinstance(way, NativeMethod) else 0
    words = file.caption or OutText("", "")
    plain = f"{words.plain}\n({note})".strip()
    if not note or len(plain) * 2 > most:
        return None
    marked = f"{words.marked}\n{channel.dialect.text(f'({note})')}".strip() if words.marked else ""
    return replace(file, caption=OutText(plain, marked))


def _file(piece: FilePiece, path_of: PathOf) -> OutFile:
    media, caption = piece.media, piece.caption
    path, itself = path_of(media), media.media is not MediaKind.IMAGE
    return OutFile(
        kind=piece.kind,
        path=path,
        size=media.blob.size if itself or not path.is_file() else path.stat().st_size,
        name=piece.name,
        mime=piece.mime,
        caption=OutText(caption.plain, caption.marked) if caption else None,
        width=media.width,
        height=media.height,
        seconds=media.seconds,
        peaks=media.peaks,
    )


def repeated(message: Outgoing | OutAlbum, dialect: Dialect) -> Outgoing | OutAlbum:
    """The same message with a mark that it may stand there already."""
    match message:
        case OutText(plain=plain, marked=marked):
            again = f"{dialect.text(AGAIN)}\n\n{marked}" if marked else ""
            return replace(message, plain=f"{AGAIN}\n\n{plain}", marked=again)
        case OutFile(caption=caption):
            words = repeated(caption or OutText(""), dialect)
            return replace(message, caption=words) if isinstance(words, OutText) else message
        case OutAlbum(files=files):
            first = repeated(files[0], dialect)
            return replace(message, files=(first, *files[1:])) if isinstance(first, OutFile) else message


def open_words(receipt: Receipt, settled: e.DeliverySettled) -> str:
    """What a person is told of a delivery that is not known to have arrived; what a voice message says, in words."""
    what = _names(receipt.parts)
    if settled.status is e.DeliveryStatus.FAILED:
        told = f"{what} could not be delivered: {settled.detail} It is kept in the conversation."
        if said := _words_of_sounds(receipt.parts):
            told += f" It says:\n\n{said}"
        return told
    return f"Nobody knows whether {what} arrived: {settled.detail}. It is kept in the conversation; ask for it again."


def _words_of_sounds(parts: tuple[Content, ...]) -> str:
    """What is said in recordings of ours: as it was written, if that was to go along."""
    spoken = [part.words for part in parts if isinstance(part, Media) and part.words]
    written = [part.text for part in parts if isinstance(part, Text)] if spoken else []
    return "\n\n".join(written or spoken)


def _names(parts: tuple[Content, ...]) -> str:
    files = [part.name or part.media.value for part in parts if isinstance(part, Media)]
    words = " ".join(part.text for part in parts if isinstance(part, Text))
    return ", ".join(files) or f"“{one_line(words, 60)}”"
