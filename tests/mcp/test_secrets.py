"""Secrets of servers: filled in at the last moment, known to the redactor, and in nothing that is shown or kept."""

from pathlib import Path

import pytest

from angelia.core.errors import ConfigError
from angelia.policy.verdict import Trust
from angelia.sandboxes.port import Reach
from angelia.service.settings.secret_refs import SecretRefs
from angelia.tools.mcp.server import SandboxProgram, Server, ServerProgram, Site, given

pytestmark = pytest.mark.anyio


async def test_handles_are_filled_in_and_known_from_then_on(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from-a-file\n")
    file.chmod(0o600)
    handles = SecretRefs({"TOKEN": "from-the-environment"})
    values = {
        "Authorization": "Bearer ${TOKEN}",
        "X-File": f"${{file:{file}}}",
        "X-Run": "${command:echo from-a-command}",
        "Accept": "text/plain",
    }
    late = handles.late("mcp.servers.x", values)
    assert handles.known() == frozenset()
    assert await late() == {
        "Authorization": "Bearer from-the-environment",
        "X-File": "from-a-file",
        "X-Run": "from-a-command",
        "Accept": "text/plain",
    }
    assert handles.known() == {"from-the-environment", "from-a-file", "from-a-command"}


@pytest.mark.parametrize(
    ("value", "said"),
    [("${GONE}", "The variable GONE is not set"), ("${file:/no/key}", "/no/key"), ("${command:false}", "failed")],
)
async def test_a_secret_that_cannot_be_had_is_named(value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        await SecretRefs({}).late("mcp.servers.x", {"KEY": value})()


def test_of_what_a_program_hands_over_only_secrets_are_redacted() -> None:
    handles = SecretRefs({})
    handles.handed(
        {"LOG_LEVEL": "information", "API_KEY": "abc-def", "Authorization": "Bearer xyz-xyz", "HOME": "/home/me"}
    )
    handles.handed({"ID": "a8f3Kq0Zp2Lm9Xw4", "PATH": "/usr/bin:/bin"})
    assert handles.known() == {"abc-def", "Bearer xyz-xyz", "xyz-xyz", "a8f3Kq0Zp2Lm9Xw4"}


def program(*argv: str, names: tuple[str, ...] = ()) -> Server:
    return Server("notes", ServerProgram(argv, given({}), names), Trust.PASSED)


def site(url: str, names: tuple[str, ...] = ()) -> Server:
    return Server("notes", Site(url, given({}), names), Trust.PASSED)


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        (program("npx", "serve", "--token=abc", "."), "npx serve --token=… ."),
        (program("npx", "serve", "--api-key", "abc", "-v"), "npx serve --api-key … -v"),
        (program("/bin/db", "postgres://me:abc@host/db"), "/bin/db postgres://…@host/db"),
        (program("sh", "-c", "a b"), "sh -c 'a b'"),
        (site("https://me:abc@host.example/mcp?key=abc#x"), "https://host.example/mcp"),
    ],
)
def test_a_server_is_shown_without_what_looks_like_a_secret(server: Server, shown: str) -> None:
    assert server.shown == shown
    assert "abc" not in server.pattern + str(server.effect().pattern)


def test_what_a_yes_holds_for_is_this_very_server() -> None:
    servers = [
        program("npx", "serve"),
        program("npx", "serve", "--all"),
        program("/tmp/npx", "serve"),
        program("npx", "serve", names=("NODE_OPTIONS",)),
        Server("other", program("npx", "serve").way, Trust.PASSED),
        Server("notes", SandboxProgram(("npx", "serve"), given({})), Trust.PASSED),
        Server("notes", SandboxProgram(("npx", "serve"), given({}), reach=Reach.NETWORK), Trust.PASSED),
        site("https://host.example/mcp"),
        site("https://host.example/mcp", ("Authorization",)),
        site("https://host.example/mcp?tenant=1"),
        site("http://host.example/mcp"),
    ]
    assert len({server.pattern for server in servers}) == len(servers)
    assert site("https://h.example/?key=1").pattern == site("https://h.example/?key=2").pattern
