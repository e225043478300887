"""Opens the sandbox that a spec names, such as `local` or `docker:python:3.12`; others come by entry point."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from angelia.core.errors import ConfigError, MissingPart
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.workspace import refuse_unfit

GROUP = "angelia.sandboxes"
"""The entry point group: the name is what stands before the first colon of a spec, the value an `OpenSandbox`."""

OURS = {
    "local": "angelia.sandboxes.local.sandbox",
    "docker": "angelia.sandboxes.docker.sandbox",
    "apptainer": "angelia.sandboxes.apptainer.sandbox",
    "modal": "angelia.sandboxes.modal.sandbox",
    "ssh": "angelia.sandboxes.ssh.sandbox",
}
"""Modules by name, each with an `open_sandbox`; imported when a sandbox of theirs is opened."""
_LENT = {"harness": "angelia.sandboxes.harness.sandbox"}
"""The same of those that nobody can name but who lends them."""

ELSEWHERE = {"ssh": "~", "modal": "/workspace", "harness": "/"}
"""Sandboxes of ours whose workspace is no folder of this machine; a spec ends with it, else it is this one."""

SPECS = "local, docker:IMAGE, apptainer:IMAGE, modal:IMAGE, ssh:HOST[:/folder]"
"""How ours are named, for people."""

_EXTRAS = {"asyncssh": "ssh"}


class OpenSandbox(Protocol):
    """How a sandbox is opened; nothing has to be reached yet."""

    def __call__(self, rest: str, place: SandboxContext, settings: object) -> Sandbox:
        """`rest` is the spec behind its name and colon; `settings` are the configuration's for its kind, if any."""
        ...


def open_sandbox(spec: str, place: SandboxContext, settings: Mapping[str, object]) -> Sandbox:
    """The sandbox that `spec` names, and never another.

    Raises:
        ConfigError: nobody knows such a sandbox, or the spec is not complete.
        MissingPart: the sandbox needs an extra.
        SandboxError: it cannot be had; says how to mend it.
    """
    name, _, rest = spec.partition(":")
    own = settings.get(name)
    inner = opener(spec)(rest, place, own)
    if not works_here(spec, settings):
        return inner  # no command of it writes into a folder of this machine
    from angelia.sandboxes.guard.sandbox import guarded

    return guarded(inner, Path(place.workspace), place.home, place.progress)


def works_here(spec: str, settings: Mapping[str, object]) -> bool:
    """Whether the workspace of such a sandbox is a folder of this machine."""
    name = spec.partition(":")[0]
    return name not in ELSEWHERE and getattr(settings.get(name), "workspace", "bind") == "bind"


def workspace_in(spec: str, folder: Path) -> str:
    """Where a conversation that is begun in `folder` works: there, or elsewhere (`~`: where a login begins)."""
    name, _, rest = spec.partition(":")
    if name not in ELSEWHERE:
        return str(folder.resolve())
    _, slash, path = rest.partition(":/")
    return f"/{path}" if slash else ELSEWHERE[name]


def fit_workspace(spec: str, folder: Path, own_home: Path) -> str:
    """`workspace_in`, of a folder that a conversation may work in; what lies elsewhere is not ours to judge.

    Raises:
        AccessRefused: it may not work here, by `sandboxes.workspace`.
    """
    if spec.partition(":")[0] not in ELSEWHERE:
        refuse_unfit(folder, own_home)
    return workspace_in(spec, folder)


def opener(spec: str) -> OpenSandbox:
    """What opens the sandbox that `spec` names.

    Raises:
        ConfigError: nobody knows such a sandbox.
        MissingPart: the sandbox needs an extra.
    """
    name = spec.partition(":")[0]
    if module := {**OURS, **_LENT}.get(name):
        try:
            return cast("OpenSandbox", import_module(module).open_sandbox)
        except ModuleNotFoundError as error:
            if error.name not in _EXTRAS:
                raise
            raise MissingPart(f"The sandbox {spec}", _EXTRAS[error.name]) from error
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=name):
        return cast("OpenSandbox", entry.load())
    raise ConfigError(
        f"There is no sandbox {spec!r}.",
        f"Known are {SPECS}.",
        f"Install the package that brings {name!r}, with an entry point of that name in {GROUP}, or name another.",
    )
