"""The tool `write`: create a text file, or replace one that was read."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.core.content import Text
from angelia.core.counts import counted
from angelia.policy.verdict import Effect, WritePath
from angelia.tools.files.changes import diff_text, diffs_of, saved_note
from angelia.tools.files.paths import judged, led
from angelia.tools.files.sandbox_files import SeenFiles, file_now
from angelia.tools.files.text_file import BOM, newline_of, with_newlines, words
from angelia.tools.port import SandboxAccess, ToolOutcome, Traits


class WriteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Where, and the whole content."""

    path: str
    content: str


class Write:
    """Writes a file whole, reads it back, and keeps an old file's mode, byte order mark and line endings."""

    name = "write"
    description = "Write a whole text file; folders are made. An existing file must have been read. Prefer `edit`."
    arguments: type[Struct] = WriteArguments
    traits = Traits()

    def __init__(self, seen: SeenFiles) -> None:
        self._seen = seen

    async def effects(self, arguments: WriteArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Writing one path."""
        return (WritePath(arguments.path, await led(context, arguments.path)),)

    async def run(self, arguments: WriteArguments, context: SandboxAccess) -> ToolOutcome:
        """Write it.

        Raises:
            BadInput: the file exists and was not read, or changed since.
            FileChanged, FileTooLarge, OutOfSpace, AccessRefused, IsFolder, NotAFile and the like.
        """
        path, resolved = arguments.path, await judged(context, arguments.path)
        now = await file_now(context.sandbox, resolved)
        if now is None:
            stands = words(await self._seen.write_verified(context.sandbox, resolved, arguments.content.encode())).text
            said = f"Created {path}: {_measure(stands)}.{saved_note(arguments.content, stands)}"
            return ToolOutcome((Text(said),), diffs=diffs_of(path, "", stands))
        self._seen.must_be_seen(resolved, now, path)
        old = words(now.data).text
        content = _in_the_manner_of(old, arguments.content)
        mark = BOM if now.data.startswith(BOM) else b""
        stands = words(
            await self._seen.write_verified(context.sandbox, resolved, mark + content.encode(), mode=now.mode)
        ).text
        note = saved_note(content, stands)
        said = f"Wrote {path}: {_measure(stands)}.{note}\n{diff_text(old, stands)}".rstrip()
        return ToolOutcome((Text(said),), diffs=diffs_of(path, old, stands))


def _in_the_manner_of(old: str, new: str) -> str:
    """Models write line feeds; a file that has Windows line endings throughout keeps them."""
    throughout = newline_of(old) == "\r\n" and "\n" not in old.replace("\r\n", "")
    return with_newlines(new, "\r\n") if throughout and "\r" not in new else new


def _measure(content: str) -> str:
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    return f"{counted(lines, 'line')}, {counted(len(content.encode()), 'byte')}"
