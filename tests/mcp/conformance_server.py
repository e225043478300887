"""What the conformance kit asks as a server: ours without the key, which the kit cannot bring, on a port of its own."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import uvicorn

from angelia.core.principal import OWNER
from angelia.faces.mcp.asks import Asks
from angelia.faces.mcp.server import AngeliaMcpServer
from angelia.faces.mcp.tools import TOOLS
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.skills.skill import read_skill
from tests.skills.folders import write_skill


async def main(port: int) -> None:
    """Listen until killed."""
    with tempfile.TemporaryDirectory() as folder:
        app = await App.open(load(Path(folder) / "home", {}), dict(os.environ))
        tea = write_skill(Path(folder) / ".agents" / "skills", files={"scripts/boil.sh": "#!/bin/sh\n"})
        await app.skills.pin(OWNER, read_skill(tea))
        library = AngeliaMcpServer(app, Asks(app, Path(folder)), TOOLS).library
        await uvicorn.Server(uvicorn.Config(library.streamable_http_app(), port=port, log_level="error")).serve()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
