"""The questions of set-up about chats: which network, in which folder it works there, and what keeps it reachable."""

from pathlib import Path

from angelia.channels.registry import OURS, find_channel
from angelia.core.errors import AngeliaError, MissingPart
from angelia.faces.cli import channel_adding as adding
from angelia.faces.words.output import asked
from angelia.faces.words.steps import Option, done, failed, note, picked
from angelia.service.settings.config import home_folder, load
from angelia.service.settings.config_file import ConfigFile

FOLDER = "~/Angelia"
"""Where it works in chats unless the person says otherwise."""


def ask_for_chat(more: dict[str, str]) -> str:
    """Ask for a network and set it up; the channel's name, empty for none. `more` are settings that are given already.

    Raises:
        LoginFailed: no token was let in.
    """
    there = load(home_folder(), {}).config.channels
    none = f"no other; there is {', '.join(there)}" if there else "none: in the terminal alone"
    kinds = sorted((kind for kind in OURS if kind not in there), key=lambda kind: kind != "telegram")
    number = picked("In which chat do you want to reach it?", [Option(none), *(Option(_title(kind)) for kind in kinds)])
    if not number:
        return ""
    kind = kinds[number - 1]
    try:
        settings = find_channel(kind, {"kind": kind}).settings
    except MissingPart as missing:
        failed(str(missing))
        return ""
    who = adding.added_by_person(kind, kind, more, {})
    if settings.guide.write and not adding.meet_owner(kind, who, {}):
        note("Later is fine: whoever writes is told a code, and `angelia pair approve CODE` lets them in.")
    if settings.linked:
        note(f"It has to be linked once: angelia channels link {kind}")
    return kind


def ask_for_folder(door: str) -> None:
    """Ask in which folder it works when it is spoken to there, and make the folder."""
    folder = asked("In which folder does it work there?", usual=FOLDER).strip()
    keep_folder(door, folder)


def keep_folder(door: str, folder: str) -> None:
    """Write it down, and make it. One that cannot be made is left to the default."""
    path = Path(folder).expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        failed(f"{path} cannot be made ({error.strerror}): it works in a folder of its own in the home.")
        return
    ConfigFile(home_folder()).set_all({f"channels.{door}.workspace": str(path)})
    done(f"In {door} it works in {path}.")


def add_chat(kind: str, token: str, owner: str, more: dict[str, str]) -> None:
    """Set a network up without asking.

    Raises:
        AngeliaError: it lets us in by none of this; nothing of it was changed.
    """
    from angelia.service.chats.channel_setup import drafted, make_owner

    if kind in load(home_folder(), {}).config.channels:
        raise AngeliaError(f"{kind} is set up already.", then=f"Change it with: angelia channels edit {kind}")
    draft = drafted(kind, kind, {"token": token, **more})
    adding.try_draft(draft)
    adding.write_down(draft, {})
    if owner:
        make_owner(home_folder(), kind, (), owner)


def _title(kind: str) -> str:
    try:
        return find_channel(kind, {"kind": kind}).settings.guide.title
    except MissingPart as missing:
        return f"{kind.capitalize()} (needs a part: {missing.then.removeprefix('Install it: ')})"
