"""A registry's `server.json` as settings: what it starts or reaches, and what it still wants to know."""

import json
from typing import Any

import pytest

from angelia.core.errors import BadInput
from angelia.tools.mcp.registry_entry import entry_in, settings_of


def settings(values: dict[str, str] | None = None, **entry: Any) -> dict[str, Any]:
    """What comes of an entry."""
    return settings_of(entry_in(json.dumps({"name": "io.example/a", **entry}).encode()), values or {})


def package(kind: str, identifier: str, **more: Any) -> dict[str, Any]:
    return {"registryType": kind, "identifier": identifier, "version": "1.2.0", "transport": {"type": "stdio"}, **more}


KEY = {"name": "API_KEY", "isRequired": True, "isSecret": True}


@pytest.mark.parametrize(
    ("described", "command"),
    [
        (package("npm", "@example/a"), ["npx", "-y", "@example/a@1.2.0"]),
        (package("npm", "@example/a", runtimeHint="bunx"), ["bunx", "@example/a@1.2.0"]),
        (package("pypi", "a-server"), ["uvx", "a-server==1.2.0"]),
        (package("oci", "example/a"), ["docker", "run", "-i", "--rm", "example/a:1.2.0"]),
        (package("oci", "ghcr.io/example/a:3"), ["docker", "run", "-i", "--rm", "ghcr.io/example/a:3"]),
        (
            package("nuget", "Example.A", packageArguments=[{"type": "positional", "value": "start"}]),
            ["dnx", "Example.A@1.2.0", "--", "start"],
        ),
        (
            package(
                "npm",
                "a",
                packageArguments=[
                    {"type": "named", "name": "--mode", "default": "local"},
                    {"type": "named", "name": "--quiet"},
                    {"type": "positional", "valueHint": "folder", "isRequired": True},
                    {"type": "positional", "valueHint": "other"},
                ],
            ),
            ["npx", "-y", "a@1.2.0", "--mode", "local", "--quiet", "/srv"],
        ),
    ],
)
def test_a_package_becomes_its_command(described: dict[str, Any], command: list[str]) -> None:
    assert settings({"folder": "/srv"}, packages=[described]) == {"command": command}


def test_a_secret_is_named_and_never_filled_in() -> None:
    made = settings(packages=[package("oci", "a", environmentVariables=[KEY, {"name": "LEVEL", "default": "info"}])])
    assert made["env"] == {"API_KEY": "${API_KEY}", "LEVEL": "info"}
    assert made["command"] == ["docker", "run", "-i", "--rm", "-e", "API_KEY", "-e", "LEVEL", "a:1.2.0"]


def test_a_site_comes_before_packages_and_the_newer_transport_before_the_older() -> None:
    token = {"token": {"isRequired": True, "isSecret": True}}
    remotes = [
        {"type": "sse", "url": "https://a.example/sse"},
        {
            "type": "streamable-http",
            "url": "https://{region}.a.example/mcp",
            "variables": {"region": {"default": "eu"}},
            "headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": token}],
        },
    ]
    made = settings(remotes=remotes, packages=[package("npm", "a")])
    assert made == {"url": "https://eu.a.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    assert settings(remotes=remotes[:1]) == {"url": "https://a.example/sse", "transport": "sse"}


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"packages": [package("mcpb", "https://a.example/a.mcpb")]}, "no way to io.example/a .* here \\(mcpb\\)"),
        ({}, "it names none"),
        ({"packages": [package("npm", "a", transport={"type": "sse"})]}, "no way"),
        (
            {"packages": [package("npm", "a", environmentVariables=[{"name": "WHERE", "isRequired": True}])]},
            "wants to know WHERE. --value WHERE=",
        ),
    ],
)
def test_what_cannot_be_used_or_is_missing_is_named(entry: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        settings(**entry)


def test_what_is_no_server_json_is_refused_and_what_an_api_wraps_is_read() -> None:
    with pytest.raises(BadInput, match=r"no server\.json"):
        entry_in(b"[1]")
    wrapped = {"server": {"name": "io.example/a", "remotes": []}, "_meta": {}}
    assert entry_in(json.dumps(wrapped).encode()).name == "io.example/a"
