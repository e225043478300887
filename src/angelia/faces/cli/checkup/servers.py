"""Looks at tools that are not ours: those of installed packages, and the MCP servers of the settings."""

from collections.abc import AsyncIterator

from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.faces.cli.mcp import look_at_server
from angelia.service.app import App
from angelia.tools.discovery import default_registry

_MEND = "`angelia mcp test {name}` tries it again."


async def look_at_packages(app: App) -> AsyncIterator[CheckResult]:
    """Tools of packages that could not be had."""
    for fault in default_registry(app.loaded.home).faults:
        yield broken("tools", fault, "Until then everything else works.")


async def look_at_servers(app: App) -> AsyncIterator[CheckResult]:
    """Each server of the settings: it is started or reached, and asked for its tools."""
    servers = app.loaded.config.mcp.servers
    if not servers:
        yield absent("MCP servers", "none are configured")
    for name in servers:
        (first, *rest), is_well = await look_at_server(app, name)
        left_out = [line for line in rest if line.startswith("The tool ")]
        if not is_well:
            yield broken(f"MCP {name}", first, _MEND.format(name=name))
        elif left_out:
            yield broken(f"MCP {name}", f"{first}. {' '.join(left_out)}", _MEND.format(name=name))
        else:
            yield well(f"MCP {name}", first)
