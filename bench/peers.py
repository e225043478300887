"""Other agents that are installed here, each with the command by which it answers one thing and ends.

`OPENAI_BASE_URL` and `OPENAI_API_KEY` lead them to the server of the bench, as they lead us.
"""

import shutil

_CODEX = (
    "exec codex exec --skip-git-repo-check --ephemeral -m scripted -c model_provider=bench"
    ' -c model_providers.bench.name=bench -c model_providers.bench.base_url="$OPENAI_BASE_URL"'
    " -c model_providers.bench.env_key=OPENAI_API_KEY -c model_providers.bench.wire_api=responses"
    " -c web_search=disabled hi"
)
KNOWN = {
    "codex": f"sh -c '{_CODEX}'",
    "hermes": "hermes chat --quiet --provider openai-api --model scripted --query hi",
}
"""https://developers.openai.com/codex/noninteractive and /config-reference; hermes-agent, reference of its commands."""


def installed() -> dict[str, str]:
    """The commands of those that are in the PATH."""
    return {name: command for name, command in KNOWN.items() if shutil.which(name)}
