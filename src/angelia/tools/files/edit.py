"""The tool `edit`: replace a piece of a text file and nothing else."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput
from angelia.policy.verdict import Effect, WritePath
from angelia.sandboxes.port import NoSuchFile
from angelia.tools.files.changes import diff_text, diffs_of, saved_note
from angelia.tools.files.paths import judged, led
from angelia.tools.files.sandbox_files import SeenFiles, file_now
from angelia.tools.files.text_file import BOM, words
from angelia.tools.port import SandboxAccess, ToolOutcome, Traits


class EditArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to replace by what."""

    path: str
    old: Annotated[str, Meta(description="The text as it stands in the file, with enough around it to be unique.")]
    new: str
    replace_all: bool = False


class Edit:
    """Changes one place, or all; says when it had to overlook something to find it, and refuses to guess."""

    name = "edit"
    description = "Replace `old` by `new` in a text file that was read. Shows the diff."
    arguments: type[Struct] = EditArguments
    traits = Traits()

    def __init__(self, seen: SeenFiles) -> None:
        self._seen = seen

    async def effects(self, arguments: EditArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Writing one path."""
        return (WritePath(arguments.path, await led(context, arguments.path)),)

    async def run(self, arguments: EditArguments, context: SandboxAccess) -> ToolOutcome:
        """Change it.

        Raises:
            BadInput: the file was not read, changed since, or is not UTF-8 text.
            NoSuchFile, FileChanged, FileTooLarge, OutOfSpace, AccessRefused, IsFolder, NotAFile and the like.
        """
        from angelia.tools.files.matching import Unclear, change

        path, resolved = arguments.path, await judged(context, arguments.path)
        now = await file_now(context.sandbox, resolved)
        if now is None:
            raise NoSuchFile(f"There is no file {path}.", then="Use `write` to create it.")
        self._seen.must_be_seen(resolved, now, path)
        read = words(now.data)
        if read.foreign:
            raise BadInput(f"{path} is not UTF-8 text, so an edit would damage it.", then="Use `shell` to change it.")
        changed = change(read.text, arguments.old, arguments.new, everywhere=arguments.replace_all)
        if isinstance(changed, Unclear):
            return ToolOutcome((Text(f"{path} was not changed: {changed.because}"),), CallStatus.ERROR)
        mark = BOM if now.data.startswith(BOM) else b""
        stands = words(
            await self._seen.write_verified(context.sandbox, resolved, mark + changed.text.encode(), mode=now.mode)
        ).text
        places = "" if changed.places == 1 else f" at {changed.places} places"
        note = f" (the text differed in {changed.overlooked})" if changed.overlooked else ""
        saved = saved_note(changed.text, stands)
        said = f"Edited {path}{places}{note}.{saved}\n{diff_text(read.text, stands)}"
        return ToolOutcome((Text(said),), diffs=diffs_of(path, read.text, stands))
