"""The commands about what the model sees: fold it, look at what fills it, pin words in it."""

from typing import TYPE_CHECKING

from angelia.context.budget import ASSUMED_WINDOW, fixed_size
from angelia.context.system_notes import pins
from angelia.context.view import project
from angelia.context.window_usage import contents, rows
from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.faces.words.widths import table
from angelia.service.conversation.setups import setup_in_force

if TYPE_CHECKING:
    from angelia.faces.cli.chat.app import ChatApp


async def compact(chat: "ChatApp", keep: str) -> None:
    """Fold now, or before the running turn's next request."""
    if not any(isinstance(entry.fact, e.ModelSaid) for entry in chat.session.log.entries):
        raise BadInput("There is nothing to fold yet.")
    await chat.session.compact(by=OWNER, keep=keep)
    chat.screen.note("folding the conversation; nothing is lost")


async def context(chat: "ChatApp", _: str) -> None:
    """A bar of what fills the window, by kind."""
    setup = await setup_in_force(chat.app.blobs, chat.session.log.entries)
    if setup is None:
        raise BadInput("Nothing has been asked yet, so the window is empty.")
    profile = setup.profile
    view = project(chat.session.log.entries, profile)
    window = profile.window or ASSUMED_WINDOW
    chat.screen.table(table(rows(contents(view, fixed_size(setup.system, setup.tools)), window)))
    held = pins(chat.session.log.entries)
    for text in held:
        chat.screen.note(f"pinned: {text}")


async def pin(chat: "ChatApp", text: str) -> None:
    """Keep these words word for word."""
    await chat.session.pin(text, by=OWNER)
    chat.screen.note("pinned: it is kept word for word, whatever is folded")


async def unpin(chat: "ChatApp", text: str) -> None:
    """Let pinned words go."""
    await chat.session.unpin(text, by=OWNER)
    chat.screen.note("no longer pinned")
