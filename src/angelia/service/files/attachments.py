"""What a person attaches: files are looked at before anything is stored, and what becomes of each is said."""

import asyncio
import shlex
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from angelia.context.media_forms import (
    MOST_TEXT,
    WIRE_PICTURES,
    AsText,
    Nature,
    Pixels,
    Refused,
    form_of,
    label,
    nature,
    quoted,
    scaled,
    size_words,
)
from angelia.context.request import Shown
from angelia.core.content import Content, Form, Media, Text
from angelia.core.errors import BadInput
from angelia.core.profile import Profile
from angelia.core.text import clean
from angelia.path_queries import is_file, real_path
from angelia.store.media.documents import can_read
from angelia.store.media.measure import FileChangedMeanwhile, Intake


class AttachedFiles(Struct, frozen=True):
    """What goes into the person's message, and what the person is told about it (whole sentences)."""

    parts: tuple[Content, ...]
    notes: tuple[str, ...] = ()


class Attachments:
    """Turns paths into parts of a message. `most_text` is what `Renditions` shows of a text, in bytes; `transcriber`
    is what writes recordings down, empty for nothing.
    """

    def __init__(self, intake: Intake, *, most_text: int = MOST_TEXT, transcriber: str = "") -> None:
        self._intake = intake
        self._most_text = most_text
        self._transcriber = transcriber

    async def file(
        self, path: Path, profile: Profile, refused: Refused = frozenset(), *, as_is: bool = False
    ) -> AttachedFiles:
        """Any file; a picture goes `as_is` where the person wants its own size.

        A damaged picture or PDF goes by name only, and the person is told: it may be what they ask about.

        Raises:
            BadInput: no such file, a folder, not readable, or larger than the limit; nothing was stored.
        """
        size = await asyncio.to_thread(_readable_size, path, self._intake.limit)
        if size == 0:
            line = f"[file {quoted(path.name)} at {_place(path)}: it is empty]"
            return AttachedFiles(
                (Text(line),), (f"The file {quoted(path.name)} is empty (0 bytes); the model is told so.",)
            )
        try:
            media = replace(await self._taken(path, self._intake.file_to_media), as_is=as_is)
        except FileChangedMeanwhile:
            raise
        except BadInput as error:
            media = await self._taken(path, self._intake.file_as_bytes)
            said = " ".join(part for part in (error.what, error.why) if part)
            return _attached(media, path, (f"{said} It reaches the model by name only.",))
        return _attached(media, path, self._notes(media, profile, refused))

    async def image(
        self, path: Path, profile: Profile, refused: Refused = frozenset(), *, as_is: bool = False
    ) -> AttachedFiles:
        """A file that has to be a picture; `as_is` as for `file`.

        Raises:
            BadInput: as `file`; or it is empty, damaged, or not a picture that can be read.
        """
        size = await asyncio.to_thread(_readable_size, path, self._intake.limit)
        if size == 0:
            raise BadInput(f"The picture {quoted(path.name)} is empty (0 bytes).", then="Copy or export it once more.")
        media = replace(await self._taken(path, self._intake.file_to_media), as_is=as_is)
        if nature(media) is not Nature.PICTURE:
            raise BadInput(
                f"{quoted(path.name)} is not a picture that can be read: its content is {media.blob.mime}.",
                then="Save it as PNG or JPEG, or give it with --file.",
            )
        return _attached(media, path, self._notes(media, profile, refused))

    async def _taken(self, path: Path, take: Callable[[Path], Awaitable[Media]]) -> Media:
        try:
            return await take(path)
        except OSError as error:
            raise _unreadable(path, error) from error

    def _notes(self, media: Media, profile: Profile, refused: Refused) -> tuple[str, ...]:
        """What the person should know of the form that the model gets; nothing where it is the file itself."""
        match form_of(media, profile, refused):
            case AsText() if nature(media) is Nature.SOUND and self._transcriber:
                return (f"The {label(media)}, is written down for {profile.name} by {self._transcriber}.",)
            case AsText(because=because, then=then):
                return (f"{because} {then}",)
            case Shown() as shown:
                said = self._changed(shown, profile)
                return (said,) if said else ()

    def _changed(self, shown: Shown, profile: Profile) -> str:
        media, called = shown.media, label(shown.media)
        match nature(media), shown.form:
            case Nature.PICTURE, _ if shown.long_edge:
                to = scaled(Pixels(media.width, media.height), shown.long_edge)
                return f"The {called}, goes to {profile.name} scaled to {to.width}×{to.height}."
            case Nature.PICTURE, _ if media.blob.mime not in WIRE_PICTURES:
                return f"The {called}, goes to the model as PNG or JPEG: none takes {media.blob.mime}."
            case Nature.PDF, Form.TEXT | Form.TEXT_OR_PAGES if not can_read():
                from angelia.installation import installing

                return (
                    f"The {called}, reaches the model by name only: {profile.name} does not take it as a PDF, and "
                    f"what reads its text is not installed. Install it: {installing('documents')}"
                )
            case Nature.PDF, Form.TEXT:
                return f"The {called}, goes to {profile.name} as the text in it; its pictures do not."
            case Nature.PDF, Form.TEXT_OR_PAGES:
                return f"The {called}, goes to {profile.name} as its text, and pages without text as pictures."
            case Nature.WORDS, _ if media.blob.size > self._most_text:
                most = size_words(self._most_text)
                return f"The {called}, is shown in part: its beginning and its end, {most} in all."
            case _:
                return ""


def pasted_paths(pasted: str) -> tuple[Path, ...]:
    """The files that a terminal typed when they were dropped on it: only existing files, and nothing else in between.

    Takes quotes, backslashes, `~` and `file://`; anything else is text and gives no path at all.
    """
    try:
        words = shlex.split(pasted.strip())
    except ValueError:
        return ()
    paths = [_pasted(word) for word in words]
    try:
        return tuple(paths) if all(path.is_absolute() and is_file(path) for path in paths) else ()
    except (OSError, ValueError):
        return ()


def _pasted(word: str) -> Path:
    if word.startswith("file://"):
        return Path(unquote(urlsplit(word).path))
    return Path(word).expanduser() if word.startswith("~/") else Path(word)


def _attached(media: Media, path: Path, notes: tuple[str, ...]) -> AttachedFiles:
    """The medium, and where it came from: what lies in the workspace is worked on there, and not put there again."""
    return AttachedFiles((replace(media, origin=clean(real_path(path))),), notes)


def _place(path: Path) -> str:
    return clean(str(path.absolute())).replace("\n", "\ufffd")


def _readable_size(path: Path, limit: int) -> int:
    """The size of an ordinary, readable file; 0 only if nothing can be read from it.

    Raises:
        BadInput: it is none, or larger than `limit`.
    """
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            with path.open("rb") as file:
                size = found.st_size or len(file.read(1))
            if size > limit:
                raise BadInput(
                    f"The file {quoted(path.name)} has {size_words(size)}; at most {size_words(limit)} are taken.",
                    then=f"Give a part of it, or say that it lies at {_place(path)}: the model can work on it with its "
                    "tools. The limit is a setting (`angelia config`).",
                )
            return size
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if stat.S_ISDIR(found.st_mode):
        raise BadInput(
            f"{_place(path)} is a folder.", then="Name the files in it, or let the model look: say where it is."
        )
    raise BadInput(f"{_place(path)} is not an ordinary file.", then="Copy its content into one.")


def _unreadable(path: Path, error: OSError | ValueError) -> BadInput:
    match error:
        case FileNotFoundError():
            near = _near(path)
            return BadInput(f"There is no file {_place(path)}.", then=f"Did you mean {near}?" if near else "")
        case PermissionError():
            return BadInput(f"The file {_place(path)} may not be read by you.", str(error.strerror or "") + ".")
        case OSError():
            return BadInput(f"The file {_place(path)} cannot be read.", f"{error.strerror or error}.")
        case _:
            return BadInput(f"{_place(path)} is not a path.", f"{error}.")


def _near(path: Path) -> str:
    try:
        names = [other.name for other in path.absolute().parent.iterdir() if other.exists()]
    except OSError:
        return ""
    import difflib

    return next(iter(difflib.get_close_matches(path.name, names, n=1)), "")
