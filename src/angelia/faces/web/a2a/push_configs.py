"""Where other agents want to be told how a task stands: kept until its end was told, for every process of a home."""

from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from angelia.core.errors import BadInput
from angelia.faces.web.a2a.rpc import TASK_NOT_FOUND, CallRefused
from angelia.store.tables.key_value import KeyValue

MOST_CONFIGS = 10
"""For one task."""

_PREFIX = "a2a-push:"
_MOST_ID, _MOST_TEXT = 128, 4_096


class PushAuthentication(Struct, rename="camel"):
    """What the listener wants to see: it becomes the header `Authorization`."""

    scheme: str = ""
    credentials: str = ""


class PushConfig(Struct, rename="camel", omit_defaults=True):
    """Where to, as the protocol has it (TaskPushNotificationConfig)."""

    task_id: str = ""
    id: str = ""
    url: str = ""
    token: str = ""
    authentication: PushAuthentication | None = None
    tenant: str = ""

    def headers(self) -> dict[str, str]:
        """By which the listener knows who tells it something."""
        found = {"content-type": "application/a2a+json"}
        if self.token:
            found["x-a2a-notification-token"] = self.token
        if self.authentication is not None:
            found["authorization"] = f"{self.authentication.scheme} {self.authentication.credentials}"
        return found


class KeptPush(Struct):
    """A config, by the key that gave it; `origin` is where we were asked, and `told` the state that was taken last."""

    key: str
    origin: str
    config: PushConfig = field(default_factory=PushConfig)
    told: str = ""


class PushConfigs:
    """All of a home. What is in one (a token, a password of the listener's) lies in the log's database."""

    def __init__(self, key_value: KeyValue) -> None:
        self._key_value = key_value

    async def all(self) -> list[KeptPush]:
        """Those whose end was not told yet."""
        return [one async for one in self._found(_PREFIX)]

    async def of(self, key: str, task: str) -> list[PushConfig]:
        """Those that a key gave for a task, by their ids."""
        return [one.config async for one in self._found(_name(task, "")) if one.key == key]

    async def keep(self, push: KeptPush) -> None:
        """Keep one, in place of an earlier one of its id.

        Raises:
            BadInput: the task has as many as one may have.
        """
        config = push.config
        others = {one.id for one in await self.of(push.key, config.task_id)} - {config.id}
        if len(others) >= MOST_CONFIGS:
            raise BadInput(f"The task has {len(others)} addresses already.", "It may have no more.", "Delete one.")
        await self._key_value.put(_name(config.task_id, config.id), msgspec.json.encode(push).decode())

    async def told(self, push: KeptPush, state: str) -> bool:
        """Note what was taken last; False where it was deleted or given anew meanwhile."""
        name, known = _name(push.config.task_id, push.config.id), msgspec.json.encode(push).decode()
        return await self._key_value.replace(name, known, msgspec.json.encode(replace(push, told=state)).decode())

    async def now(self, config: PushConfig) -> KeptPush | None:
        """One with what was taken last; None where it is not kept any more."""
        return await self._key_value.get_as(KeptPush, _name(config.task_id, config.id))

    async def kept(self, push: KeptPush) -> bool:
        """Whether it still stands as it is here."""
        name = _name(push.config.task_id, push.config.id)
        return await self._key_value.get(name) == msgspec.json.encode(push).decode()

    async def forget(self, config: PushConfig) -> None:
        """It is not there any more."""
        await self._key_value.forget(_name(config.task_id, config.id))

    async def _found(self, prefix: str) -> AsyncIterator[KeptPush]:
        for _, kept in await self._key_value.all_as(KeptPush, prefix):
            yield kept


def only(configs: list[PushConfig], own: str) -> PushConfig:
    """The config of this id.

    Raises:
        CallRefused: there is none.
    """
    for one in configs:
        if one.id == own:
            return one
    why = "One is kept until the end of the task was told there."
    raise CallRefused(TASK_NOT_FOUND, f"The task has no push config {own[:80]!r}.", why)


def require_sendable(config: PushConfig) -> None:
    """What is in it can stand in a request.

    Raises:
        BadInput: it cannot; says what.
    """
    own = config.authentication or PushAuthentication("x", "x")
    for name, text in (
        ("url", config.url), ("token", config.token), ("scheme", own.scheme), ("credentials", own.credentials),
    ):  # fmt: skip
        if len(text) > _MOST_TEXT or not (text.isascii() and text.isprintable()):
            raise BadInput(f"`{name}` of the push config cannot be sent.", f"Up to {_MOST_TEXT:,} of ASCII, one line.")
    if not config.url or not own.scheme or not own.credentials:
        raise BadInput("The push config lacks `url`, or a `scheme` or `credentials` of its `authentication`.")
    if len(config.id) > _MOST_ID:
        raise BadInput(f"`id` of the push config has {len(config.id)} characters; at most {_MOST_ID} are taken.")


def _name(task: str, own: str) -> str:
    return f"{_PREFIX}{task}:{own}"
