"""What changes in a server's lists, heard by a stream that is opened again where it is cut (SEP-2575, 2026-07-28).

There is no replay: what changed while there was no stream is known by listing once more.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from angelia.tools.mcp.failures import ServerRefused
from angelia.tools.mcp.library_errors import in_our_terms
from angelia.tools.mcp.reopening import Reopening
from mcp import Client

_STANDS_S = 60.0
"""Seconds in which a server says that it has begun to listen for us."""


def _promises(honored: types.SubscriptionFilter) -> bool:
    return bool(honored.tools_list_changed or honored.prompts_list_changed or honored.resources_list_changed)


async def hear_changes(client: Client, stale: Callable[[], None]) -> None:
    """Call `stale` when a list may have changed, until this is cancelled; a server that has no such stream has lists
    that stay.
    """
    again, missed = Reopening(), False
    while True:
        try:
            async with AsyncExitStack() as stack:
                with anyio.fail_after(_STANDS_S):
                    changes = await stack.enter_async_context(
                        client.listen(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True)
                    )
                again.opened()
                if missed:
                    stale()
                elif not _promises(changes.honored):
                    return
                missed = True
                async for _ in changes:
                    again.heard()
                    stale()
        except MCPError as error:
            match in_our_terms(error):
                case ServerRefused(passes=False):
                    return
                case _:
                    pass
        except (RuntimeError, TimeoutError):  # lost, in the library's words, or never begun
            pass
        await anyio.sleep(again.pause())
