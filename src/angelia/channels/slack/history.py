"""What was said while nobody listened: messages after a moment, in a chat or a thread."""

from functools import partial

import msgspec

from angelia.channels.missed import AskHistory
from angelia.channels.slack.api import SlackApi
from angelia.channels.slack.ledger import moment_of, ts_of
from angelia.channels.slack.payloads import Page

PAGE = 200
"""Messages of one answer ("conversations.history": no more than 200 are recommended; some apps get 15)."""


async def since(api: SlackApi, chat: str, thread: str, moment: int, ask: AskHistory) -> list[bytes]:
    """The messages of a chat, or of a thread in it, after a moment, oldest first; each as an event tells it.

    Raises:
        Rejected: we may not read them.
    """
    method = "conversations.replies" if thread else "conversations.history"
    asked: dict[str, object] = {"channel": chat, "oldest": ts_of(moment), "limit": PAGE}
    asked |= {"ts": thread} if thread else {}
    found: dict[int, bytes] = {}
    more = True
    while more:
        page = await ask(partial(api.call, method, dict(asked), Page))
        for message in page.messages:
            found[moment_of(str(message.get("ts", "")))] = msgspec.json.encode(message | {"channel": chat})
        asked["cursor"] = page.response_metadata.next_cursor
        more = bool(asked["cursor"])
    # a thread's answer begins with the message that it is about, whenever that was
    return [found[at] for at in sorted(found) if at > moment]
