"""The conformance kits as certificates: what a package of somebody else's keeps of the port that it fills.

sandbox   a spec, as `--sandbox` takes it
store     the address of a store of objects, beneath which nothing lies yet
channel   a module with `CAPABILITIES` and `make`, which gives a fake of its network (`testing.channels.checks`)
model     a module with `PROFILE` and `make`, which gives a provider (`testing.model.checks`)
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Protocol

from angelia.core.errors import BadInput
from angelia.core.ids import sortable_id
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.registry import open_sandbox, opener
from angelia.store.objects.registry import open_objects
from angelia.testing.certificates.certificate import TriedClaim
from angelia.testing.certificates.trial import tried
from angelia.testing.channels import checks as channels
from angelia.testing.model.checks import check_provider
from angelia.testing.objects import checks as objects
from angelia.testing.sandboxes import checks as sandboxes

Claims = list[tuple[str, Callable[[], Awaitable[object]]]]
"""What a kit claims: names, and what tries each."""


class KitReport(Protocol):
    """Who hears how far a kit is."""

    def begun(self, claim: str) -> None:
        """A claim is tried from now on."""

    def came(self, claim: TriedClaim) -> None:
        """What came of it."""


async def kit(kind: str, name: str, folder: Path, report: KitReport, after: int = 0) -> list[TriedClaim]:
    """Hold what `name` names to the kit of its kind, the first `after` claims left out; files are made in `folder`.

    Raises:
        BadInput: a module is not there, or lacks what it should have.
        ConfigError, MissingPart: no sandbox is named so, or what it needs is not installed.
    """
    sys.path.append(str(Path.cwd()))  # last: a module is found there, and takes no other one's place
    found = []
    claims = {"sandbox": _sandbox, "store": _store, "channel": _channel, "model": _model}[kind](name, folder)
    for claim, trial in claims[after:]:
        report.begun(claim)
        found.append(await tried(claim, trial()))
        report.came(found[-1])
    return found


def _sandbox(spec: str, folder: Path) -> Claims:
    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        with tempfile.TemporaryDirectory(prefix="workspace-", dir=folder) as workspace:
            own = folder / "own"
            sandbox = open_sandbox(spec, SandboxContext(sortable_id(), workspace, own, own / "run"), {})
            try:
                yield sandbox
            finally:
                await sandbox.close()

    opener(spec)  # one that nobody knows has broken nothing
    return [(check.name, partial(check.run, make)) for check in sandboxes.checks()]


def _store(address: str, folder: Path) -> Claims:
    async def trial(check: objects.ObjectCheck) -> None:
        at, own = f"{address.rstrip('/')}/kit-{sortable_id()}", folder / check.name
        own.mkdir()
        if "://" not in address:
            Path(at).mkdir(parents=True)
        await asyncio.to_thread(check.run, partial(open_objects, at, os.environ), own)

    return [(check.name.replace("_", " "), partial(trial, check)) for check in objects.checks()]


def _module(name: str, *wanted: str) -> ModuleType:
    try:
        module = import_module(name)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        raise BadInput(
            f"There is no module {name}." if missing else f"The module {name} cannot be imported.",
            f"{error}.",
            "Name it as Python imports it, in the folder where it lies." if missing else "Install what it imports.",
        ) from error
    if lacking := [one for one in wanted if not hasattr(module, one)]:
        raise BadInput(
            f"The module {name} has no {' and no '.join(lacking)}.",
            f"The kit reads {' and '.join(wanted)} there.",
            "`angelia test-kit --help` says what they are.",
        )
    return module


def _channel(module: str, _: Path) -> Claims:
    given = _module(module, "CAPABILITIES", "make")
    return [(check.name, partial(check.run, given.make)) for check in channels.checks(given.CAPABILITIES)]


def _model(module: str, _: Path) -> Claims:
    given = _module(module, "PROFILE", "make")

    async def answers() -> None:
        await check_provider(given.make(), given.PROFILE)

    return [("a conversation of two questions", answers)]
