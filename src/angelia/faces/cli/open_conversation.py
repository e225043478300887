"""The conversation that is meant: a new one, the last one, or one by its id."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.service.conversation.reopening import reopened_in

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session
    from angelia.store.log.transcript import Transcript

F = TypeVar("F", bound=Callable[..., Any])


def conversation_options(command: F) -> F:
    """`--continue` and `--resume`."""
    resume = click.option("--resume", metavar="ID", help="Go on with this conversation.")
    go_on = click.option("--continue", "go_on", is_flag=True, help="Go on with the last conversation.")
    return go_on(resume(command))


async def session_for(app: "App", given: dict[str, Any], note: Callable[[str], None]) -> "Session":
    """Open what the options mean; a new conversation is stored with its first message. `note` is told what was chosen.

    Raises:
        NotFound, BadInput: there is none to go on with, or several fit; or it works in another sandbox.
        AccessRefused: no conversation works in the folder that was named.
    """
    if given["resume"] or given["go_on"]:
        find = app.transcript.find(OWNER, given["resume"]) if given["resume"] else last_conversation(app.transcript)
        session = await app.conversations.resume(await find, door="terminal")
        if given["sandbox"] not in (None, session.sandbox, session.preset):
            raise BadInput(
                f"This conversation works in {session.sandbox}, and stays there.",
                then=f"Leave --sandbox away, or begin a new one in {given['sandbox']}.",
            )
        if given["workspace"] and (moved := await reopened_in(session, given["workspace"].resolve(), app.loaded.home)):
            note(moved)
        return session
    return app.conversations.begin(door="terminal", workspace=given["workspace"] or folder_here(app, note))


def folder_here(app: "App", note: Callable[[str], None]) -> Path:
    """The folder that we were started in, or one made for this where no conversation works there: `note` is told.

    Raises:
        AccessRefused: that cannot be made.
    """
    from angelia.sandboxes.registry import ELSEWHERE
    from angelia.sandboxes.workspace import make_own_folder, unfit
    from angelia.service.places.presets import chosen

    here = Path.cwd()
    elsewhere = chosen(app.loaded.config.sandbox).spec.partition(":")[0] in ELSEWHERE
    why = "" if elsewhere else unfit(here, app.loaded.home)
    if not why:
        return here
    own = make_own_folder()
    note(f"{why} So this conversation works in {own}; -C FOLDER, or /new FOLDER, works in another.")
    return own


async def last_conversation(transcript: "Transcript") -> ConversationId:
    """The one that was used last.

    Raises:
        BadInput: there is none at all.
    """
    last = await transcript.newest(OWNER)
    if last is None:
        raise BadInput("There is no conversation yet.", then="`angelia` begins one.")
    return last
