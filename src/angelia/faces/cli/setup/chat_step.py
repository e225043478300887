"""The question of set-up about chats: which network, with the steps to its token, and who its owner is."""

from angelia.channels.registry import OURS, find_channel
from angelia.core.errors import AngeliaError, MissingPart
from angelia.faces.cli import channel_adding as adding
from angelia.faces.words.steps import Option, failed, note, picked
from angelia.service.settings.config import home_folder, load


def ask_for_chat(more: dict[str, str]) -> str:
    """Ask for a network and set it up; the channel's name, empty for none. `more` are settings that are given already.

    Raises:
        LoginFailed: no token was let in.
    """
    there = load(home_folder(), {}).config.channels
    none = f"no other; there is {', '.join(there)}" if there else "none: in the terminal alone"
    kinds = sorted((kind for kind in OURS if kind not in there), key=lambda kind: kind != "telegram")
    number = picked("In which chat do you want to reach it?", [Option(none), *map(chat_option, kinds)])
    if not number:
        return ""
    kind = kinds[number - 1]
    try:
        settings = find_channel(kind, {"kind": kind}).settings
    except MissingPart as missing:
        failed(str(missing))
        note(f"Then: angelia channels add {kind}")
        return ""
    who = adding.added_by_person(kind, kind, more, {})
    if settings.guide.write and not adding.meet_owner(kind, who, {}):
        note("Later is fine: whoever writes is told a code, and `angelia pair approve CODE` lets them in.")
    if settings.linked:
        note(f"It has to be linked once: angelia channels link {kind}")
    return kind


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


def chat_option(kind: str) -> Option:
    """A network as it is listed; the command that brings what it lacks is long, and told to whoever picks it."""
    try:
        return Option(find_channel(kind, {"kind": kind}).settings.guide.title)
    except MissingPart:
        return Option(kind.capitalize(), "needs a part that is not installed")
