"""Where keys come from: the environment, a command, a file that only its owner can read, a secret by its handle."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from msgspec import Struct

from angelia.beginning import persons_home
from angelia.core.errors import ConfigError
from angelia.models.catalog.vendor import Vendor
from angelia.models.port import Credential

COMMAND_SECONDS = 120.0
"""How long a key command may take: it may have to ask a person for a passphrase."""

_MOST = 65_536
"""Bytes of what a command prints that are kept: its first line is the key."""

NO_KEY = Credential("no key", "")
"""What a server on one's own machine is asked with."""


KEY_PLACES = {"key_command": "command", "key_file": "file", "key_secret": "secret", "key_variable": "env"}
"""Fields of a vendor's row in the configuration that say where keys come from, by their names in a `KeySource`."""


class KeySource(Struct, frozen=True, forbid_unknown_fields=True):
    """One place that the config file names for a vendor's keys. Keys never stand in the config file itself.

    `command`'s first line of output is a key (`pass show openai`); `file` holds a key per line, `#` begins a comment;
    `env` is one more variable, `secret` the handle of a kept secret (`angelia secrets`).
    """

    command: str = ""
    file: str = ""
    env: str = ""
    secret: str = ""


ReadSecret = Callable[[str], Awaitable[str]]
"""What is kept under a handle; raises NotFound where there is nothing, ConfigError where it cannot be read."""


async def no_secrets(handle: str) -> str:
    """For where no home is open: a handle stands for nothing.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(f"The secret {handle} cannot be read here.", "No home is open.")


class Keyring:
    """Every key this process has read, in pools by vendor. `sources` are places by vendor; all of them count."""

    def __init__(
        self,
        sources: Mapping[str, Sequence[KeySource]] | None = None,
        environ: Mapping[str, str] = os.environ,
        read_secret: ReadSecret = no_secrets,
    ) -> None:
        self._sources, self._environ = sources or {}, environ
        self._read_secret = read_secret
        self._pools: dict[str, tuple[Credential, ...]] = {}

    def has(self, vendor: Vendor) -> bool:
        """Whether a key is configured, or none is needed; runs and reads nothing."""
        elsewhere = any(source.command or source.file or source.secret for source in self._sources.get(vendor.name, ()))
        return vendor.local or elsewhere or bool(self._from_environment(vendor))

    async def pool(self, vendor: Vendor) -> tuple[Credential, ...]:
        """The vendor's credentials, each once, in the order in which they are tried; read once.

        Empty if there is none and one is needed.

        Raises:
            ConfigError: the command failed, or the file cannot be read or can be read by others.
            NotFound: there is no secret of the handle that is named.
        """
        if vendor.name not in self._pools:
            found = self._from_environment(vendor)
            for source in self._sources.get(vendor.name, ()):
                if source.file:
                    found += keys_in_file(Path(source.file).expanduser())
                if source.secret:
                    found.append(Credential(f"secret {source.secret}", await self._read_secret(source.secret)))
                if source.command:
                    found.append(await key_from_command(vendor.name, source.command))
            unique: dict[str, Credential] = {}
            for credential in found:
                unique.setdefault(credential.secret, credential)
            self._pools[vendor.name] = tuple(unique.values()) or ((NO_KEY,) if vendor.local else ())
        return self._pools[vendor.name]

    def forget(self, vendor: Vendor) -> None:
        """Read the vendor's keys again next time: one was rejected, and its command may have a fresh one."""
        self._pools.pop(vendor.name, None)

    def secrets(self) -> frozenset[str]:
        """Every secret read so far, for the redactor."""
        return frozenset(one.secret for pool in self._pools.values() for one in pool if one.secret)

    def _from_environment(self, vendor: Vendor) -> list[Credential]:
        """`NAME`, then `NAME_2`, `NAME_3` and so on, for each variable that may hold a key."""
        further = [source.env for source in self._sources.get(vendor.name, ()) if source.env]
        labels = [label for name in (*vendor.key_env, *further) for label in (name, *self._numbered(f"{name}_"))]
        values = [(label, self._environ.get(label, "").strip()) for label in labels]
        return [Credential(label, secret) for label, secret in values if secret]

    def _numbered(self, prefix: str) -> list[str]:
        labels = [label for label in self._environ if label.startswith(prefix) and label[len(prefix) :].isdecimal()]
        return sorted(labels, key=lambda label: int(label[len(prefix) :]))


def keys_in_file(path: Path) -> list[Credential]:
    """The keys in a file, one on a line.

    Raises:
        ConfigError: it cannot be read, holds none, or can be read by others than its owner.
    """
    try:
        state = path.stat()
        if hasattr(os, "geteuid") and (state.st_mode & 0o077 or state.st_uid != os.geteuid()):
            raise ConfigError(
                f"The key file {path} can be read by others than you (mode {state.st_mode & 0o777:o}).",
                "A key that others can read is not a secret.",
                f"Run: chmod 600 {path}",
            )
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"The key file {path} cannot be read: {reason}.") from None
    keys = [key for line in lines if (key := line.partition("#")[0].strip())]
    if not keys:
        raise ConfigError(f"The key file {path} holds no key.", then="Put one key on a line.")
    return [Credential(f"{path.name}:{number}", key) for number, key in enumerate(keys, 1)]


async def key_from_command(vendor: str, command: str) -> Credential:
    """The first line that a command prints.

    Raises:
        ConfigError: it failed, printed nothing, or gave no answer in time.
    """
    with _Said() as said, _Said() as complained:
        process = await asyncio.create_subprocess_shell(
            command, stdin=asyncio.subprocess.DEVNULL, stdout=said.theirs, stderr=complained.theirs, cwd=persons_home()
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                await process.wait()
        except TimeoutError:
            what = f"The key command of {vendor} gave no answer within {COMMAND_SECONDS:g} seconds."
            raise ConfigError(what) from None
        finally:
            if process.returncode is None:  # what it began is of our own session, where it may ask for a passphrase
                process.kill()
                await process.wait()
        output, complaint = said.so_far(), complained.so_far()
    key = output.decode(errors="replace").partition("\n")[0].strip()
    if process.returncode or not key:
        came = f"failed with code {process.returncode}" if process.returncode else "printed nothing"
        why = complaint.decode(errors="replace").strip().partition("\n")[0][:200]
        then = "Run it by hand and look at its first line; that is the key."
        raise ConfigError(f"The key command of {vendor} {came}.", why, then)
    return Credential("key command", key)


class _Said:
    """A pipe, read as it is written to. Its end is not waited for: what a command left behind may hold it for ever."""

    def __enter__(self) -> Self:
        self._read, self.theirs = os.pipe()
        self._found = b""
        os.set_blocking(self._read, False)
        asyncio.get_running_loop().add_reader(self._read, self._take)
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.get_running_loop().remove_reader(self._read)
        os.close(self._read)
        os.close(self.theirs)

    def so_far(self) -> bytes:
        """What was written until now, as far as it is kept."""
        while len(self._found) < _MOST and self._take():
            pass
        return self._found

    def _take(self) -> bool:
        """Whether there was more."""
        try:
            self._found = (self._found + os.read(self._read, _MOST))[:_MOST]
        except BlockingIOError:
            return False
        return True
