"""Tells listeners how tasks stand: the whole task after each change of its state, at least once, from the log.

What is told is never a difference, so one that was missed (this process was killed, the listener was away) is made good
by the next, and the end is told until it was taken. An address is judged as everything that is fetched: when it is
given, and again at each request, where the connection goes to the very address that was judged.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait
from angelia.core import entry as e
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, BadInput, PolicyDenied
from angelia.core.ids import sortable_id
from angelia.faces.web.a2a.push_configs import KeptPush, PushConfig, PushConfigs, require_sendable
from angelia.faces.web.a2a.task_object import task_object, task_status
from angelia.faces.web.api_keys import ApiKey, ApiKeys
from angelia.faces.web.v1.refusals import ApiRefused
from angelia.faces.web.v1.turn import Beat, FollowedTurn
from angelia.faces.web.v1.turn_place import place_in
from angelia.faces.web.v1.turns import ApiTurns
from angelia.policy.egress import judge_address, judge_url
from angelia.service.keep_running import keep_running
from angelia.tools.web.fetcher import Fetcher, FetchFailed, FetchLimits

if TYPE_CHECKING:
    from angelia.service.app import App

PAUSES = (1.0, 5.0, 30.0, 120.0, 600.0, 1_800.0, 3_600.0, 14_400.0, 43_200.0)
"""Seconds between tries to reach a listener: a listener may be away for most of a day."""

_LIMITS = FetchLimits(silence=20.0, total=30.0, redirects=0)

logger = logging.getLogger("angelia.web")


class TaskPushes:
    """Those of one process; the configs are its home's."""

    def __init__(self, app: "App", keys: ApiKeys, turns: ApiTurns) -> None:
        ranges = app.loaded.config.policy.allow_ranges
        self.configs = PushConfigs(app.key_value)
        self._fetcher = Fetcher(judge_url, lambda address: judge_address(address, ranges), limits=_LIMITS)
        self._keys, self._turns = keys, turns
        self._telling: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def require_reachable(self, config: PushConfig) -> None:
        """It is an address that things may be sent to.

        Raises:
            BadInput: it is none; says why.
        """
        import httpx2

        require_sendable(config)
        try:
            await self._fetcher.judged_addresses(httpx2.URL(config.url))
        except (PolicyDenied, FetchFailed) as error:
            raise BadInput(f"Nothing is sent to {config.url[:200]}.", f"{error.what} {error.why}") from error
        except (httpx2.InvalidURL, UnicodeError) as fault:
            raise BadInput(f"{config.url[:200]!r} is not a URL.", str(fault)) from None

    async def add(self, key: ApiKey, origin: str, config: PushConfig) -> PushConfig:
        """Keep a config that was found reachable, and tell there from now on how its task stands.

        Raises:
            BadInput: the task has as many as one may have.
        """
        config = replace(config, id=config.id or sortable_id())
        push = KeptPush(key.name, origin, config)
        await self.configs.keep(push)
        self._begin(push)
        return config

    async def end(self, config: PushConfig) -> None:
        """Nothing more is told there."""
        await self.configs.forget(config)
        if telling := self._telling.get((config.task_id, config.id)):
            telling.cancel()

    async def rouse(self) -> None:
        """Go on with those that an earlier life has left."""
        for push in await self.configs.all():
            self._begin(push)

    async def close(self) -> None:
        """Let go; the next life goes on."""
        await cancel_and_wait(*self._telling.values())

    def _begin(self, push: KeptPush) -> None:
        name = push.config.task_id, push.config.id
        if before := self._telling.pop(name, None):
            before.cancel()
        what = f"telling a listener how the task {push.config.task_id} stands"
        task = self._telling[name] = asyncio.create_task(keep_running(what, lambda: self._tell(push.config)))
        task.add_done_callback(lambda done: self._telling.get(name) is done and self._telling.pop(name))

    async def _tell(self, config: PushConfig) -> None:
        push = await self.configs.now(config)
        if push is None:
            return
        key = next((one for one in await self._keys.list() if one.name == push.key), None)
        turn = await self._turn(key, config) if key else None
        if key is None or turn is None:
            await self.configs.forget(config)
            return
        await self._to_its_end(key, push, turn)

    async def _turn(self, key: ApiKey, config: PushConfig) -> FollowedTurn | None:
        """The task; None where the key may not see it any more, or it was erased."""
        try:
            return await self._turns.again(key, place_in(config.task_id))
        except ApiRefused as refused:
            if refused.status != 404:
                raise
            return None

    async def _to_its_end(self, key: ApiKey, push: KeptPush, turn: FollowedTurn) -> None:
        told: KeptPush | None = push
        async for event in turn.events():
            if told and isinstance(event, e.Entry | Beat) and not turn.result().over:
                told = await self._told(told, turn)
        crash_point("push.before_end")
        if told and await self._told(told, turn):
            crash_point("push.end_taken")
            await self._turns.given(key, turn, turn.result().deliveries)
            await self.configs.forget(push.config)

    async def _told(self, push: KeptPush, turn: FollowedTurn) -> KeptPush | None:
        """With how it stands now, if that is new, taken by the listener; None where nothing more is to be told."""
        status = task_status(turn, turn.result())
        state = f"{status['state']} {status.get('message', {}).get('parts', '')}"
        if state == push.told:
            return push
        if not await self._taken(push, turn):
            return None
        return replace(push, told=state) if await self.configs.told(push, state) else None

    async def _taken(self, push: KeptPush, turn: FollowedTurn) -> bool:
        """Whether the listener has taken it, after however many tries; False where it was deleted, or given up."""
        config, why = push.config, ""
        for pause in (0.0, *PAUSES):
            await asyncio.sleep(pause)
            if not await self.configs.kept(push):
                return False
            body = msgspec.json.encode({"task": task_object(turn, push.origin)})
            try:
                status = await self._fetcher.post(config.url, body, config.headers())
            except AngeliaError as error:
                why = str(error)
                continue
            if 200 <= status < 300:
                return True
            why = f"It answered {status}."
        logger.warning("%s takes nothing, and is told nothing more of %s: %s", config.url, config.task_id, why)
        await self.configs.forget(config)
        return False
