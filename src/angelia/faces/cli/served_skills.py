"""Skills that MCP servers serve, at the terminal: what could not be had is said beneath, while somebody waits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from angelia.faces.cli.open_conversation import folder_here
from angelia.faces.cli.progress import working
from angelia.faces.words.output import echo
from angelia.service.skills.seen import JudgedSkill

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session
    from angelia.service.skills.server_skills import ServersOfSettings


def servers_here(app: "App") -> "ServersOfSettings":
    """The servers of the settings, as they are reached from where we were started."""
    from angelia.service.skills.server_skills import ServersOfSettings

    def begin() -> "Session":
        return app.conversations.begin(door="terminal", workspace=folder_here(app, _tell))

    return ServersOfSettings(app.conversations, app.mcp_sources, app.toolsets, begin)


async def served_there(app: "App") -> list[JudgedSkill]:
    """What the servers of the settings listed when they were reached last, and how the person stands to each."""
    if not app.loaded.config.mcp.servers:
        return []
    from angelia.service.skills.server_skills import ServerSkills

    return await ServerSkills(servers_here(app), app.served, app.skills).listed()


async def read_from_servers(app: "App", wanted: Sequence[JudgedSkill]) -> list[JudgedSkill]:
    """These with their files; see `ServerSkills.read`."""
    if not wanted:
        return []
    from angelia.service.skills.server_skills import ServerSkills

    with working("connecting to the servers"):
        return await ServerSkills(servers_here(app), app.served, app.skills).read(wanted, _tell)


async def served_named(app: "App", name: str) -> JudgedSkill:
    """The one of this name with its files.

    Raises:
        NotFound, BadInput: see `ServerSkills.named`.
    """
    from angelia.service.skills.server_skills import ServerSkills

    with working("connecting to the server"):
        return await ServerSkills(servers_here(app), app.served, app.skills).named(name, _tell)


def _tell(text: str) -> None:
    echo(text, err=True)
