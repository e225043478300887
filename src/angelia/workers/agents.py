"""Agents that are known to work for others: how each is started, and how one gets it."""

from msgspec import Struct


class KnownAgent(Struct, frozen=True):
    """`argv` starts it so that it speaks the protocol; `install` gets it; `secrets` are what it logs in with."""

    argv: tuple[str, ...]
    install: str
    secrets: tuple[str, ...] = ()


KNOWN = {
    "codex": KnownAgent(
        ("codex-acp",), "npm install -g @agentclientprotocol/codex-acp", ("CODEX_API_KEY", "OPENAI_API_KEY")
    ),
    "claude": KnownAgent(
        ("claude-agent-acp",), "npm install -g @agentclientprotocol/claude-agent-acp", ("ANTHROPIC_API_KEY",)
    ),
    "gemini": KnownAgent(("gemini", "--acp"), "npm install -g @google/gemini-cli", ("GEMINI_API_KEY",)),
    "goose": KnownAgent(("goose", "acp"), "see the site of goose, whose command line has `goose acp`"),
    "opencode": KnownAgent(("opencode", "acp"), "npm install -g opencode-ai"),
    "angelia": KnownAgent(("angelia", "acp"), "its wheel is made by `make wheel` in a checkout"),
}
"""By the name in `worker = "acp:NAME"`."""
