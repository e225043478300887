"""The servers of the person's own settings."""

from angelia.core.errors import ConfigError
from angelia.policy.verdict import Trust
from angelia.service.settings.secret_refs import SecretRefs
from angelia.tools.mcp.server import Server, ServerProgram, Site
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
    if settings.seconds <= 0:
        raise ConfigError(f"{where}.seconds is {settings.seconds:g}, and has to be more than 0.")
    trust = Trust.ALLOWED if settings.allow else Trust.CONFIGURED
    if settings.url:
        headers = secret_refs.late(where, settings.headers)
        way: ServerProgram | Site = Site(settings.url, headers, tuple(sorted(settings.headers)), settings.transport)
    else:
        env = secret_refs.late(where, settings.env)
        way = ServerProgram(settings.command, env, tuple(sorted(settings.env)), settings.cwd)
    return Server(name, way, trust, settings.seconds)
