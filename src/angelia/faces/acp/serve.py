"""One client over stdin and stdout, from its first line to its last."""

from angelia.acp.lines import lines_in
from angelia.acp.own_pipes import own_pipes
from angelia.core.errors import BadInput
from angelia.faces.acp.agent import AcpAgent
from angelia.service.app import App
from angelia.service.settings.config import Loaded


async def serve(loaded: Loaded) -> int:
    """Answer until the client closes our stdin; then leave everything as it is in the log.

    Raises:
        BadInput: stdin or stdout is no pipe.
    """
    pipes = await own_pipes()
    if pipes is None:
        raise BadInput(
            "Stdin and stdout have to be pipes: this command is started by an editor.",
            then="`angelia acp --setup zed` says how to tell Zed.",
        )
    reader, writer = pipes
    app = await App.open_alone(loaded)
    agent = AcpAgent(app, writer.write, writer.flushed)
    try:
        async for line in lines_in(reader.read):
            agent.peer.receive(line)
    finally:
        await agent.close()
        await app.close()
    return 0
