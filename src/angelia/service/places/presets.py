"""Where conversations work: the settings of sandboxes, presets of them, and what a name means."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from angelia.core.errors import ConfigError
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.local.resource_limits import LocalSettings
from angelia.sandboxes.modal.settings import ModalSettings

_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"


class Preset(Struct, frozen=True, forbid_unknown_fields=True):
    """A sandbox under a name of your own: its `spec`, and what differs from the settings of its kind."""

    spec: str
    local: LocalSettings | None = None
    docker: DockerSettings | None = None
    apptainer: ApptainerSettings | None = None
    modal: ModalSettings | None = None


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where commands run: `spec` is `local`, a kind with an image or a host (`docker:IMAGE`), or the name of a preset.

    `confine = "off"` gives up confinement; `network` is what confined commands may ask for.
    """

    spec: str = "local"
    confine: Literal["auto", "off"] = "auto"
    network: Literal["off", "ask", "on"] = "ask"
    local: LocalSettings = LocalSettings()
    docker: DockerSettings = DockerSettings()
    apptainer: ApptainerSettings = ApptainerSettings()
    modal: ModalSettings = ModalSettings()
    presets: dict[str, Preset] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.presets:
            if not re.fullmatch(_NAME, name) or name == "local":
                raise ValueError(f"a preset is named with letters, digits, - and _, not {name!r} (and not local)")


class Chosen(Struct, frozen=True):
    """A sandbox that is meant: its spec, the preset that named it (empty for none), and the settings of all kinds.

    `settings` is what `sandboxes.registry.open_sandbox` takes.
    """

    spec: str
    preset: str
    settings: Mapping[str, object]


def chosen(settings: SandboxSettings, name: str = "") -> Chosen:
    """What `name` means: a preset, or a spec such as `docker:python:3.12`; empty is what `sandbox.spec` says.

    Pure, and the one way in which a name becomes a sandbox: a door that has a setting of its own for where its
    conversations work hands that name to `Conversations.begin(…, sandbox=name)`, which asks this.

    Whether there is such a kind is found when it is opened (`sandboxes.registry.open_sandbox`).

    >>> chosen(SandboxSettings(presets={"lab": Preset("docker:python:3.12")}), "lab").spec
    'docker:python:3.12'
    """
    name = name or settings.spec
    if name in settings.presets:
        return Chosen(settings.presets[name].spec, name, _by_kind(settings, name))
    return Chosen(name, "", _by_kind(settings, ""))


def kept(settings: SandboxSettings, spec: str, preset: str) -> Chosen:
    """What a conversation began with, as its log has it; a preset lends it the limits that it has today.

    Raises:
        ConfigError: the preset is gone. Its limits are not known then, and others are not taken in their place.
    """
    if preset and preset not in settings.presets:
        raise ConfigError(
            f"This conversation works in the sandbox preset {preset!r} ({spec}), which is not configured any more.",
            "Other limits than those it began with are not put in their place.",
            f'Add it again: sandbox.presets.{preset} = {{spec = "{spec}"}}; or begin a new conversation.',
        )
    return Chosen(spec, preset, _by_kind(settings, preset))


def lay_over(sandbox: dict[str, Any]) -> None:
    """Complete the presets of an unchecked `sandbox` table: what one says of a kind is laid over the kind's own."""
    presets = sandbox.get("presets")
    for preset in presets.values() if isinstance(presets, dict) else ():
        for kind, own in preset.items() if isinstance(preset, dict) else ():
            common = sandbox.get(kind)
            if isinstance(own, dict) and isinstance(common, dict):
                preset[kind] = common | own


def _by_kind(settings: SandboxSettings, preset: str) -> dict[str, object]:
    """The settings of each kind that has some, by its name: the fields that hold a group."""
    common = {name: getattr(settings, name) for name in settings.__struct_fields__}
    own = {name: getattr(settings.presets[preset], name) for name in Preset.__struct_fields__} if preset else {}
    return {name: own.get(name) or group for name, group in common.items() if isinstance(group, Struct)}
