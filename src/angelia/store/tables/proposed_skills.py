"""Where the skills stand that were proposed and that nobody has answered yet: a conversation and a call of it."""

import msgspec
from msgspec import Struct

from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import Principal
from angelia.store.tables.key_value import KeyValue

_PREFIX = "proposed-skill:"


class ProposedCall(Struct, frozen=True):
    """The call that proposed one; what it proposes stands in its arguments, in the log. `at` is Unix milliseconds."""

    conversation: ConversationId
    call: CallId
    at: int


class ProposedSkills:
    """Those that wait for an answer."""

    def __init__(self, values: KeyValue) -> None:
        self._values = values

    async def put(self, owner: Principal, proposed: ProposedCall) -> None:
        """Let one wait; the same call once."""
        await self._values.put(_key(owner, proposed), msgspec.json.encode(proposed).decode())

    async def forget(self, owner: Principal, proposed: ProposedCall) -> None:
        """It was answered, or is gone."""
        await self._values.forget(_key(owner, proposed))

    async def list(self, owner: Principal) -> list[ProposedCall]:
        """Those that wait, oldest first."""
        rows = await self._values.all_as(ProposedCall, f"{_PREFIX}{owner}\n")
        return sorted((one for _, one in rows), key=lambda one: one.at)


def _key(owner: Principal, proposed: ProposedCall) -> str:
    return f"{_PREFIX}{owner}\n{proposed.conversation}\n{proposed.call}"
