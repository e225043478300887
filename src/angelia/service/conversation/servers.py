"""The servers of the person's own settings."""

from angelia.core.errors import ConfigError
from angelia.policy.verdict import Trust
from angelia.sandboxes.port import Reach
from angelia.service.settings.secret_refs import SecretRefs
from angelia.tools.mcp.server import SandboxProgram, Server, ServerProgram, Site
from angelia.tools.mcp.settings import ServerSettings


def configured(name: str, settings: ServerSettings, secret_refs: SecretRefs) -> Server:
    """A server as it stands under `[mcp.servers.NAME]`; no secret is read yet.

    Raises:
        ConfigError: it has no way to be reached, or two.
    """
    where = f"mcp.servers.{name}"
    if bool(settings.command) == bool(settings.url):
        raise ConfigError(
            f"{where} needs either a command or a url.",
            then=f'For example {where}.command = ["npx", "-y", "some-server"], or {where}.url = "https://…/mcp".',
        )
    inside = settings.where == "sandbox"
    if inside and settings.url:
        raise ConfigError(
            f'{where}.where is "sandbox", and it is reached by a url.',
            "Only a command is a program that the sandbox can start.",
            f"Remove {where}.where, or name its command in place of the url.",
        )
    if settings.reach != "confined" and not inside:
        raise ConfigError(
            f'{where}.reach is "{settings.reach}", which is for a server in the sandbox.',
            f'A program of the machine is not confined. Remove {where}.reach, or set {where}.where = "sandbox".',
        )
    if settings.seconds <= 0:
        raise ConfigError(f"{where}.seconds is {settings.seconds:g}, and has to be more than 0.")
    trust = Trust.ALLOWED if settings.allow else Trust.CONFIGURED
    if settings.url:
        headers = secret_refs.late(where, settings.headers)
        site = Site(settings.url, headers, tuple(sorted(settings.headers)), settings.transport)
        return Server(name, site, trust, settings.seconds)
    env, names = secret_refs.late(where, settings.env), tuple(sorted(settings.env))
    way = (
        SandboxProgram(settings.command, env, names, settings.cwd, Reach(settings.reach))
        if inside
        else ServerProgram(settings.command, env, names, settings.cwd)
    )
    return Server(name, way, trust, settings.seconds)
