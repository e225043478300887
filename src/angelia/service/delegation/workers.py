"""Helpers that are other agents: what the settings say of them."""

from msgspec import Struct

from angelia.core.errors import ConfigError
from angelia.service.delegation.settings import ChildPreset

_PROTOCOL = "acp"


class NamedWorker(Struct, frozen=True):
    """Another agent by its name in `worker = "PROTOCOL:NAME"`, and what starts it."""

    name: str
    protocol: str
    argv: tuple[str, ...]


def works_elsewhere(preset: ChildPreset) -> bool:
    """Whether another agent does this helper's work, in place of a model."""
    return bool(preset.worker or preset.command)


def worker_of(name: str, preset: ChildPreset) -> NamedWorker:
    """The agent behind `[helpers.NAME]`.

    >>> worker_of("coder", ChildPreset(worker="acp:gemini")).argv
    ('gemini', '--acp')
    >>> worker_of("mine", ChildPreset(command=("my-agent", "--stdio"))).name
    'acp:mine'

    Raises:
        ConfigError: nobody knows what starts it, or something is set that is not for another agent.
    """
    protocol, _, agent = (preset.worker or f"{_PROTOCOL}:{name}").partition(":")
    where = f"helpers.{name}"
    if preset.model or preset.tools:
        raise ConfigError(
            f"{where} is another agent, and has a {'model' if preset.model else 'list of tools'} set.",
            "It works with its own.",
            f"Set its model by its own means, such as {where}.command or {where}.env.",
        )
    if preset.command:
        return NamedWorker(f"{protocol}:{agent or name}", protocol, preset.command)
    from angelia.workers.agents import KNOWN

    if protocol != _PROTOCOL or agent not in KNOWN:
        raise ConfigError(
            f'{where}.worker is "{preset.worker}", and nobody here knows what starts that.',
            f"Known are {', '.join(f'{_PROTOCOL}:{one}' for one in KNOWN)}.",
            f'Name its program: {where}.command = ["some-agent", "--acp"].',
        )
    return NamedWorker(preset.worker, protocol, KNOWN[agent].argv)
