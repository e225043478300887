"""The tool `read`: a file, folder or stored output as the model can take it in."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from angelia.core.content import CallStatus, Text
from angelia.core.counts import counted
from angelia.core.text import clean, shorten
from angelia.policy.verdict import Effect, NoEffect, ReadPath
from angelia.sandboxes.port import FileKind
from angelia.tools.blob_names import find_blob, is_pointer, names_result, result_text
from angelia.tools.files.paths import judged, led
from angelia.tools.files.sandbox_files import READ_LIMIT, SeenFiles, read_bytes
from angelia.tools.files.stored_text import line_page
from angelia.tools.files.text_file import Look, look, words
from angelia.tools.port import BlobAccess, LogAccess, MediaAccess, SandboxAccess, ToolOutcome, Traits

LINES = 1000
"""Lines shown when the call does not say."""

CHARACTERS = 32_000
"""Characters shown at most, line numbers included."""

LINE_CHARACTERS = 1_000
"""Characters shown of one line."""

FOLDER_ENTRIES = 300
"""Entries shown of a folder."""


class ReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to read, and which part of it."""

    path: Annotated[str, Meta(description="File or folder, blob:ID or call:ID.")]
    offset: Annotated[int, Meta(ge=1, description="First line.")] = 1
    limit: Annotated[int, Meta(ge=1, description="Lines.")] = LINES


class ReadContext(BlobAccess, LogAccess, MediaAccess, SandboxAccess, Protocol):
    """What `read` uses of its call."""


class Read:
    """Shows text with line numbers, pictures and PDFs as they are, and describes everything else."""

    name = "read"
    description = (
        "Read a text file (lines come numbered), picture, PDF or folder, or blob:ID: an attachment or stored output "
        "of this conversation. Read a file before you change it."
    )
    arguments: type[Struct] = ReadArguments
    traits = Traits(reads_only=True, replayable=True)

    def __init__(self, seen: SeenFiles) -> None:
        self._seen = seen

    async def effects(self, arguments: ReadArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Reading one path; what this conversation holds already is no effect."""
        if is_pointer(arguments.path) or names_result(arguments.path):
            return (NoEffect(),)
        return (ReadPath(arguments.path, await led(context, arguments.path)),)

    async def run(self, arguments: ReadArguments, context: ReadContext) -> ToolOutcome:
        """Read it.

        Raises:
            NotFound: an unknown or expired blob, or an unknown call.
            NoSuchFile, NotAFile, FileTooLarge, AccessRefused, BadInput and the like: the sandbox's refusals.
        """
        if is_pointer(arguments.path):
            known = find_blob(context.entries, arguments.path)
            if known.ref.size > READ_LIMIT and known.ref.mime == "text/plain":
                return await _lines_of(context.blobs.chunks(known.ref.sha256), arguments)
            return await _shown(await context.blobs.get(known.ref.sha256), known.name, arguments, context)
        if names_result(arguments.path):
            return _lines(result_text(context.entries, arguments.path).encode(), arguments)
        resolved = await judged(context, arguments.path)
        if (await context.sandbox.stat(resolved)).kind is FileKind.FOLDER:
            return ToolOutcome((Text(await _folder(resolved, context)),))
        data = await read_bytes(context.sandbox, resolved)
        self._seen.remember(resolved, data)
        return await _shown(data, resolved.rpartition("/")[2], arguments, context)


async def _shown(data: bytes, name: str, arguments: ReadArguments, context: ReadContext) -> ToolOutcome:
    match look(data):
        case Look.IMAGE | Look.PDF:
            return ToolOutcome((Text(f"{clean(name)}:"), await context.to_media(data, clean(name))))
        case Look.BINARY:
            said = f"{clean(name)} is a binary file of {len(data)} bytes (it begins {data[:16].hex(' ')}); not shown."
            return ToolOutcome((Text(f"{said} `shell` has tools for it."),))
        case Look.TEXT:
            return _lines(data, arguments)


def _lines(data: bytes, arguments: ReadArguments) -> ToolOutcome:
    read = words(data)
    lines = read.text.replace("\r\n", "\n").removesuffix("\n").split("\n") if read.text else []
    if not lines:
        return ToolOutcome((Text("(the file is empty)"),))
    first = arguments.offset
    if first > len(lines):
        return _no_line(first, len(lines))
    shown: list[str] = []
    left = CHARACTERS
    for number, line in enumerate(lines[first - 1 : first - 1 + arguments.limit], first):
        numbered = f"{number}\t{shorten(line, LINE_CHARACTERS)}"
        left -= len(numbered) + 1
        if left < 0 and shown:
            break
        shown.append(numbered)
    shown += _more(first + len(shown) - 1, len(lines))
    if read.foreign:
        shown.append("(not UTF-8: characters that could not be read stand as \ufffd)")
    return ToolOutcome((Text(clean("\n".join(shown))),))


async def _lines_of(chunks: AsyncIterator[bytes], arguments: ReadArguments) -> ToolOutcome:
    """A stored text that is too large to be held at once."""
    first = arguments.offset
    page = await line_page(
        chunks, first=first, most=arguments.limit, characters=CHARACTERS, line_characters=LINE_CHARACTERS
    )
    if not page.shown:
        return _no_line(first, page.total)
    return ToolOutcome((Text("\n".join([*page.shown, *_more(first + len(page.shown) - 1, page.total)])),))


def _no_line(number: int, total: int) -> ToolOutcome:
    return ToolOutcome((Text(f"The file has {counted(total, 'line')}; there is no line {number}."),), CallStatus.ERROR)


def _more(last: int, total: int) -> list[str]:
    left = counted(total - last, "more line")
    return [f"… ({left} of {total:,}: go on with offset={last + 1})"] if last < total else []


async def _folder(resolved: str, context: ReadContext) -> str:
    entries = sorted([entry async for entry in context.sandbox.list(resolved)], key=lambda entry: entry.path)
    marks = {FileKind.FOLDER: "/", FileKind.LINK: "@", FileKind.OTHER: "?"}
    lines = []
    for entry in entries[:FOLDER_ENTRIES]:
        name = entry.path.rstrip("/").rpartition("/")[2]
        size = f"\t{counted(entry.size, 'byte')}" if entry.kind is FileKind.FILE else ""
        lines.append(f"{name}{marks.get(entry.kind, '')}{size}")
    if len(entries) > FOLDER_ENTRIES:
        lines.append(f"… ({counted(len(entries) - FOLDER_ENTRIES, 'more entry')})")
    return clean("\n".join([f"{resolved}/ ({counted(len(entries), 'entry')})", *lines]))
