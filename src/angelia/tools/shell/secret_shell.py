"""The tool `shell` for whoever keeps secrets for commands: they find them in their environment, by a yes."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from angelia.core.errors import BadInput, PolicyDenied
from angelia.policy.verdict import Effect, GiveSecret, RunCommand
from angelia.tools.page_access import SecretsAccess
from angelia.tools.port import SandboxAccess
from angelia.tools.shell.background import BackgroundCommands
from angelia.tools.shell.shell import ENVIRONMENT, Shell, ShellArguments, ShellWithSecrets


class SecretShell(Shell):
    """Gives a command the secrets that it names by handle, each in the variable that the person has chosen for it."""

    arguments: type[Struct] = ShellWithSecrets

    def __init__(self, background: BackgroundCommands, access: SecretsAccess) -> None:
        super().__init__(background)
        self._access = access

    async def effects(self, arguments: ShellArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Running it, and giving secrets to it.

        Raises:
            PolicyDenied: one is not for commands; says which are.
            BadInput: as `Shell.effects`, or two would stand in one variable.
        """
        (effect,) = await super().effects(arguments, context)
        assert isinstance(effect, RunCommand)
        there, wanted = self._access.for_commands(), _wanted(arguments)
        for handle in wanted:
            if handle not in there:
                known = ", ".join(there) or "none"
                raise PolicyDenied(f"No secret {handle!r} is kept for commands. There are: {known}.")
        if len({there[handle] for handle in wanted}) < len(wanted):
            said = ", ".join(f"{handle} in {there[handle]}" for handle in wanted)
            raise BadInput(f"Two secrets would stand in one variable ({said}).", then="Give one of them.")
        return (effect, GiveSecret(tuple((one, there[one]) for one in wanted), effect)) if wanted else (effect,)

    async def environment(self, arguments: ShellArguments) -> Mapping[str, str]:
        """See `Shell`; with the secrets."""
        there, wanted = self._access.for_commands(), _wanted(arguments)
        given = {there.get(one, ""): await self._access.value_for_command(one) for one in wanted}
        return {**ENVIRONMENT, **given}


def _wanted(arguments: ShellArguments) -> Sequence[str]:
    return tuple(dict.fromkeys(arguments.secrets)) if isinstance(arguments, ShellWithSecrets) else ()
