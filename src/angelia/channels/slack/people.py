"""What people are called: Slack tells their ids, and names only when asked."""

import logging

from angelia.channels.failures import ChannelError
from angelia.channels.slack.api import SlackApi, SlackAsked
from angelia.channels.slack.payloads import UserInfo

log = logging.getLogger(__name__)

REMEMBERED = 1000
"""People whose names are remembered, as long as this process lives."""

WAIT = 5.0
"""Seconds without a byte after which a name is done without: whoever speaks waits for it."""


class People:
    """Names by id. Each is asked for once; without an answer, the id does."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._names: dict[str, str] = {}

    def know(self, user: str, name: str) -> None:
        """Slack told it unasked."""
        if name:
            self._names[user] = name
            if len(self._names) > REMEMBERED:
                del self._names[next(iter(self._names))]

    async def name(self, user: str) -> str:
        """What somebody is called."""
        if user not in self._names:
            try:
                found = await self._api.call("users.info", {"user": user}, UserInfo, SlackAsked(wait=WAIT))
            except ChannelError as error:
                log.info("the name of %s cannot be had: %s", user, error)
                return user
            self.know(user, found.user.shown)
        return self._names[user]
