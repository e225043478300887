"""What was done to a home, by whom: kept in a log of its own, whose checksums show what was altered or left out."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.entry import AdminAct, Administered, ConversationOpened
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.service.log_places import name_in_log
from angelia.service.settings.toml_text import pairs, parse
from angelia.store.log.transcript import Transcript
from angelia.store.sql.visibility import AUDIT
from angelia.store.tables.key_value import KeyValue, read_as

LOG = ConversationId(AUDIT)
_KNOWN = "audit-known:"
"""Before the machine and the home whose files they are: several may share one log."""
_KEY_FOLDERS = ("keys", "channels", "browser")
_SECRETS = "keys/secrets.json"


class _Known(Struct, frozen=True):
    """The settings as they stood, each by a digest of its value, and the names of keys."""

    settings: dict[str, str]
    keys: list[str]


_NOTHING = _Known({}, [])
"""What is known where it cannot be read: all that stands now is told as new, rather than a change be missed."""


class Audit:
    """The record of one home."""

    def __init__(self, home: Path, transcript: Transcript, key_value: KeyValue) -> None:
        self._home, self._transcript = home, transcript
        self._key_value = key_value
        self._known = f"{_KNOWN}{name_in_log(home)}"

    async def record(self, act: AdminAct, by: Principal, about: str = "", person: Principal | None = None) -> None:
        """Write down what is about to be done.

        Raises:
            StoreError: it cannot be; then it is not to be done.
        """
        fact = Administered(act, by, about, person)
        try:
            await self._transcript.append(LOG, [fact])
        except NotFound:
            try:
                await self._transcript.append(LOG, [ConversationOpened(AUDIT, str(self._home)), fact])
            except BadInput:  # another process has begun it in this moment
                await self._transcript.append(LOG, [fact])

    async def notice(self) -> None:
        """Write down what stands otherwise than when the home was opened last: settings, and which keys there are,
        whoever changed them and by whichever program. Of the first time there is nothing to tell.
        """
        now = await asyncio.to_thread(self._look)
        written = msgspec.json.encode(now).decode()
        before = await self._key_value.get(self._known)
        if before and before != written:  # rather told twice, by two that are opened at once, than never
            await self._tell(read_as(_Known, self._known, before) or _NOTHING, now)
        if before != written:
            await self._key_value.put(self._known, written)

    async def _tell(self, known: _Known, now: _Known) -> None:
        if changed := sorted(key for key, _ in known.settings.items() ^ now.settings.items()):
            await self.record(AdminAct.SETTINGS_CHANGED, OWNER, ", ".join(dict.fromkeys(changed)))
        came, went = set(now.keys) - set(known.keys), set(known.keys) - set(now.keys)
        if came or went:
            names = sorted([*(f"+{name}" for name in came), *(f"-{name}" for name in went)])
            await self.record(AdminAct.KEYS_CHANGED, OWNER, ", ".join(names))

    def _look(self) -> _Known:
        settings = {key: _digest(value) for key, value in pairs(_tree(self._home / "config.toml"))}
        return _Known(dict(sorted(settings.items())), sorted({*self._key_files(), *self._handles()}))

    def _key_files(self) -> set[str]:
        found = {path for folder in _KEY_FOLDERS for path in (self._home / folder).glob("*") if path.is_file()}
        return {str(path.relative_to(self._home)) for path in found} - {_SECRETS}

    def _handles(self) -> set[str]:
        try:
            told = msgspec.json.decode((self._home / _SECRETS).read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.MsgspecError):  # whoever needs one is told
            return set()
        return {f"secret {handle}" for handle in told}


def _tree(path: Path) -> dict[str, Any]:
    try:
        return parse(path.read_text("utf-8"))[0]
    except (OSError, UnicodeDecodeError):
        return {}


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
