"""The secrets of a home by their handles: what each is for, where it is kept, and its value when it is needed.

`keys/secrets.json`, which only its owner can read, says which there are. The value of one stands there as well, or in
the system's keyring. Whatever was read is known to the redactor from then on; what stands in the file is from the
beginning.
"""

import asyncio
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.core.counts import counted
from angelia.core.errors import BadInput, ConfigError, NotFound, fault_words
from angelia.policy.spread import SHORTEST
from angelia.service.secrets.system_keyring import SystemKeyring

FILE = "keys/secrets.json"
_HANDLE = r"[A-Za-z0-9][A-Za-z0-9._@+-]*(/[A-Za-z0-9][A-Za-z0-9._@+-]*)*"
_HOST = r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|[0-9a-f:.]+"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_PORTS = {"https": 443, "http": 80}
_KNOWN_CODE_S = 120.0
"""For so long a code that was made is kept from being shown: sites take one for a minute or so."""

SecretKind = Literal["text", "code"]
SecretPlace = Literal["file", "keyring"]


class KeptSecret(Struct, frozen=True):
    """One secret. `origins` are the sites that may be given it, none for what no site gets; `variable` is the one in
    which a command may find it, empty for what no command gets.

    `value` is empty where it is in the keyring; of a `code` it is what codes are made of.
    """

    kind: SecretKind = "text"
    origins: tuple[str, ...] = ()
    place: SecretPlace = "file"
    value: str = ""
    variable: str = ""


class SecretStore:
    """Those of one home. Several processes may add and read at once."""

    def __init__(self, home: Path, clock: Callable[[], float] = time.time) -> None:
        """`clock` is seconds since 1970, for one-time codes."""
        self.path, self._clock = home / FILE, clock
        self.keyring = SystemKeyring(str(home))
        self._known: frozenset[str] = frozenset()
        self._file_known = False
        self._asked: set[str] = set()
        self._codes: dict[str, float] = {}

    def known(self) -> frozenset[str]:
        """What must not be shown: the values in the file, those that were read, and codes that still count."""
        if not self._file_known:
            self._file_known = True
            with suppress(ConfigError):  # whoever needs one of them is told
                self._learn(*(one.value for one in self._decoded().values()))
        now = self._clock()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        return self._known | self._codes.keys()

    def kept(self) -> Mapping[str, KeptSecret]:
        """Every secret by its handle, without its value.

        Raises:
            ConfigError: the file cannot be read, or can be read by others.
        """
        return {handle: replace(one, value="") for handle, one in sorted(self._read().items())}

    async def value(self, handle: str) -> str:
        """What is given out for a handle now: the secret itself, or a code that counts at this moment.

        Raises:
            NotFound: there is none of this handle; says which are like it.
            ConfigError: the file cannot be read, or can be read by others.
            KeyringUnusable, MissingPart: it is in the keyring, which cannot be asked.
        """
        found = self._read()
        if handle not in found:
            there = ", ".join(sorted(found)) or "none at all"
            raise NotFound(f"There is no secret {handle!r}; there are: {there}.", then=f"angelia secrets add {handle}")
        one = found[handle]
        value = one.value
        if one.place == "keyring":
            value = await asyncio.to_thread(self.keyring.read, handle)
            self._asked.add(handle)
            if not value:
                why = f"The keyring holds nothing for {handle!r} any more."
                raise NotFound(why, then=f"Add it again: angelia secrets add {handle}")
        self._learn(*(each.value for each in found.values()), value)
        if one.kind == "code":
            from angelia.service.secrets.one_time_codes import code_at, code_seed

            code = code_at(code_seed(value), self._clock())
            self._codes[code] = self._clock() + _KNOWN_CODE_S
            return code
        return value

    async def learn(self) -> None:
        """Know also what is in the keyring: a command's output may show what an earlier life gave to it.

        Each is asked for once in the life of this object.

        Raises:
            KeyringUnusable, MissingPart: it cannot be asked.
        """
        for handle, one in self._read().items():
            if one.place == "keyring" and handle not in self._asked:
                self._learn(await asyncio.to_thread(self.keyring.read, handle))
                self._asked.add(handle)

    def add(self, handle: str, secret: KeptSecret) -> bool:
        """Keep it, in place of what was kept under the handle; returns whether there was something.

        Raises:
            BadInput: the handle or the value is none.
            ConfigError, KeyringUnusable, MissingPart: it cannot be kept; nothing was changed.
        """
        _check(handle, secret)
        with self._alone():
            found = self._read()
            before = found.get(handle)
            if secret.place == "keyring":
                self.keyring.write(handle, secret.value)
            elif before is not None and before.place == "keyring":
                self.keyring.remove(handle)
            self._write({**found, handle: replace(secret, value="") if secret.place == "keyring" else secret})
        self._learn(secret.value)
        return before is not None

    def remove(self, handle: str) -> None:
        """Forget it, here and in the keyring.

        Raises:
            NotFound: there is none.
            ConfigError, KeyringUnusable, MissingPart: it cannot be forgotten; nothing was changed.
        """
        with self._alone():
            found = self._read()
            if handle not in found:
                there = ", ".join(sorted(found)) or "none at all"
                raise NotFound(f"There is no secret {handle!r}; there are: {there}.")
            gone = found.pop(handle)
            if gone.place == "keyring":
                self.keyring.remove(handle)
            self._write(found)

    def _learn(self, *values: str) -> None:
        self._known |= {value for value in values if value}

    def _read(self) -> dict[str, KeptSecret]:
        try:
            if self.path.stat().st_mode & 0o077:
                raise ConfigError(f"Others could read {self.path}.", "It holds secrets.", f"chmod 600 {self.path}")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"The secrets in {self.path} cannot be read: {error.strerror}.") from error
        return self._decoded()

    def _decoded(self) -> dict[str, KeptSecret]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, KeptSecret])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            raise ConfigError(f"The secrets in {self.path} cannot be read: {fault_words(error)}.") from error

    def _write(self, secrets: dict[str, KeptSecret]) -> None:
        from angelia.service.settings.private_file import write_private

        text = msgspec.json.format(msgspec.json.encode(dict(sorted(secrets.items())))).decode()
        write_private(self.path, f"{text}\n")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process changes the file meanwhile."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def site_origin(written: str) -> str:
    """The origin that somebody means by an address or a host: `https` where nothing is said.

    >>> site_origin("GitHub.com"), site_origin("https://example.com:443/login"), site_origin("http://localhost:8000")
    ('https://github.com', 'https://example.com', 'http://localhost:8000')

    Raises:
        BadInput: it is no site.
    """
    try:
        parts = urlsplit(written.strip() if "://" in written else f"https://{written.strip()}")
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in _PORTS or not re.fullmatch(_HOST, host):
        raise BadInput(f"{written!r} is no site.", then="Name it by its address, such as https://github.com")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port and port != _PORTS[parts.scheme] else "")


def _check(handle: str, secret: KeptSecret) -> None:
    if not re.fullmatch(_HANDLE, handle) or len(handle) > 100:
        why = "It is made of letters, digits and . _ @ + -, in parts with / between."
        raise BadInput(f"{handle!r} is no handle for a secret.", why, "Such as github/password.")
    if not secret.value:
        raise BadInput("Nothing was given, so nothing was kept.")
    if secret.variable and not re.fullmatch(_VARIABLE, secret.variable):
        raise BadInput(f"{secret.variable!r} is no name of a variable.", then="Such as GITHUB_TOKEN.")
    if secret.variable and secret.kind == "text" and len(secret.value) < SHORTEST:
        raise BadInput(
            f"It has {counted(len(secret.value), 'character')}, and one for commands has {SHORTEST} or more.",
            "What a command writes is searched for it, and shorter values are not searched for: they occur by chance.",
        )
    if secret.kind == "code":
        from angelia.service.secrets.one_time_codes import code_seed

        code_seed(secret.value)
