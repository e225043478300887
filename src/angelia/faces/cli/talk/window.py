"""The commands about what the model sees: fold it, look at what fills it, pin words in it."""

from typing import TYPE_CHECKING

from angelia.context.budget import ASSUMED_WINDOW, fixed_size
from angelia.context.contents import contents, rows
from angelia.context.notes import pins
from angelia.context.view import project
from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.faces.cli.widths import table
from angelia.service.setups import setup_in_force

if TYPE_CHECKING:
    from angelia.faces.cli.talk.talk import Talk


async def compact(talk: "Talk", keep: str) -> None:
    """Fold now, or before the running turn's next request."""
    if not any(isinstance(entry.fact, e.ModelSaid) for entry in talk.session.log.entries):
        raise BadInput("There is nothing to fold yet.")
    await talk.session.make_room(by="you", keep=keep)
    talk.screen.note("folding the conversation; nothing is lost")


async def context(talk: "Talk", _: str) -> None:
    """A bar of what fills the window, by kind."""
    setup = await setup_in_force(talk.house.blobs, talk.session.log.entries)
    if setup is None:
        raise BadInput("Nothing has been asked yet, so the window is empty.")
    profile = setup.profile
    view = project(talk.session.log.entries, profile)
    window = profile.window or ASSUMED_WINDOW
    talk.screen.table(table(rows(contents(view, fixed_size(setup.system, setup.tools)), window)))
    held = pins(talk.session.log.entries)
    for text in held:
        talk.screen.note(f"pinned: {text}")


async def pin(talk: "Talk", text: str) -> None:
    """Keep these words word for word."""
    await talk.session.pin(text, by="you")
    talk.screen.note("pinned: it is kept word for word, whatever is folded")


async def unpin(talk: "Talk", text: str) -> None:
    """Let pinned words go."""
    await talk.session.unpin(text, by="you")
    talk.screen.note("no longer pinned")
