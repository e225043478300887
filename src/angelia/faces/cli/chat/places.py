"""Where conversations work, as one talks about it: `/sandbox`, and the folder of a new one."""

from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.errors import BadInput
from angelia.faces.cli.open_conversation import short
from angelia.faces.words.widths import table
from angelia.sandboxes.registry import ELSEWHERE, SPECS

if TYPE_CHECKING:
    from angelia.faces.cli.chat.app import ChatApp
    from angelia.service.conversation.session import Session


async def sandbox(chat: "ChatApp", name: str) -> None:
    """Say where this conversation works and which presets there are, or begin the next one elsewhere.

    A conversation's sandbox stands in its first entry: one in which something was said stays where it is.
    """
    if not name:
        presets = chat.app.loaded.config.sandbox.presets
        rows = [("here", in_words(chat.session)), *((known, preset.spec) for known, preset in presets.items())]
        usage = f"/sandbox NAME begins a new conversation there; NAME is one of these, or one of {SPECS}"
        chat.screen.table([*table(rows), usage])
        return
    await chat.ready.wait()
    if name in (chat.session.preset, chat.session.sandbox):
        raise BadInput(f"This conversation works in {in_words(chat.session)} already.", then="/new begins another.")
    before, chat.sandbox = chat.sandbox, name
    try:
        await begin(chat, folder_of(chat.session))
    except BaseException:
        chat.sandbox = before
        raise


async def begin(chat: "ChatApp", folder: Path) -> None:
    """A new conversation, where the last one was asked for.

    Raises:
        BadInput: a turn is running.
        SandboxError, ConfigError, MissingPart: its sandbox cannot be had; this conversation stays open.
    """
    left = chat.session
    await chat.switch(chat.app.begin(door="terminal", workspace=folder, sandbox=chat.sandbox))
    back = f" · /resume {short(left.conversation)} goes back" if left.log.entries else ""
    chat.screen.note(f"a new conversation in {in_words(chat.session)}, {chat.session.workspace}{back}")


def folder_of(session: "Session") -> Path:
    """The folder of this machine that a conversation is about: where it works, or where we are if that is elsewhere."""
    return Path.cwd() if session.sandbox.partition(":")[0] in ELSEWHERE else Path(session.workspace)


def in_words(session: "Session") -> str:
    """A conversation's sandbox, with the name by which it was chosen."""
    return f"{session.sandbox} (preset {session.preset})" if session.preset else session.sandbox
