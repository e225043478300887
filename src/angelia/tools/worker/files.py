"""The tools `read` and `write` of a worker: text files of the sandbox, as an editor hands them over."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.core.content import Text
from angelia.core.counts import counted
from angelia.policy.verdict import Effect, ReadPath, WritePath
from angelia.tools.files.changes import diffs_of
from angelia.tools.files.paths import judged, led
from angelia.tools.files.sandbox_files import SeenFiles, file_now, read_bytes
from angelia.tools.files.text_file import words
from angelia.tools.port import SandboxAccess, ToolOutcome, Traits
from angelia.workers.port import READ, WRITE

MOST_READ = 2_000_000
"""Bytes of a file that is handed over, which stands in the log then."""


class WorkerReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Which file, from which line on, and how many lines; 0 is all."""

    path: str
    line: int = 1
    limit: int = 0


class WorkerRead:
    """Hands over the text itself: no line numbers, nothing shortened."""

    name = READ
    description = "A text file as it stands."
    arguments: type[Struct] = WorkerReadArguments
    traits = Traits(reads_only=True, replayable=True)

    async def effects(self, arguments: WorkerReadArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Reading one path."""
        return (ReadPath(arguments.path, await led(context, arguments.path)),)

    async def run(self, arguments: WorkerReadArguments, context: SandboxAccess) -> ToolOutcome:
        """Read it.

        Raises:
            NoSuchFile, NotAFile, FileTooLarge, AccessRefused and the like: the sandbox's refusals.
        """
        data = await read_bytes(context.sandbox, await judged(context, arguments.path), limit=MOST_READ)
        text = words(data).text
        if arguments.line > 1 or arguments.limit:
            lines = text.splitlines(keepends=True)[max(arguments.line - 1, 0) :]
            text = "".join(lines[: arguments.limit or None])
        return ToolOutcome((Text(text),))


class WorkerWriteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Where, and the whole content."""

    path: str
    content: str


class WorkerWrite:
    """Writes a file whole, whether it was read or not: what stood there is kept for `/undo`."""

    name = WRITE
    description = "Write a whole text file."
    arguments: type[Struct] = WorkerWriteArguments
    traits = Traits()

    async def effects(self, arguments: WorkerWriteArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Writing one path."""
        return (WritePath(arguments.path, await led(context, arguments.path)),)

    async def run(self, arguments: WorkerWriteArguments, context: SandboxAccess) -> ToolOutcome:
        """Write it.

        Raises:
            FileChanged, FileTooLarge, OutOfSpace, AccessRefused, IsFolder, NotAFile and the like.
        """
        path, resolved = arguments.path, await judged(context, arguments.path)
        now = await file_now(context.sandbox, resolved)
        mode = now.mode if now else 0o644
        stands = await SeenFiles().write_verified(context.sandbox, resolved, arguments.content.encode(), mode=mode)
        said = f"Wrote {path}: {counted(len(stands), 'byte')}."
        return ToolOutcome((Text(said),), diffs=diffs_of(path, words(now.data).text if now else "", words(stands).text))
