"""The agent card: what another agent has to know to speak to this one, and nothing of anybody."""

from typing import Any

from angelia.core.version import PACKAGE_VERSION
from angelia.faces.web.a2a.rpc import VERSION

CARD_PATH = "/.well-known/agent-card.json"
"""Where agents look for it (RFC 8615)."""

CALL_PATH = "/a2a"

TAKEN = ("text/plain", "application/json", "image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf")
GIVEN = ("text/plain", "text/markdown")


def agent_card(origin: str) -> dict[str, Any]:
    """The card of an agent that is asked under this origin."""
    return {
        "name": "Angelia",
        "description": "A person's own agent: it answers, works in files, and keeps what was said.",
        "version": PACKAGE_VERSION,
        "supportedInterfaces": [
            {"url": f"{origin}{CALL_PATH}", "protocolBinding": "JSONRPC", "protocolVersion": VERSION}
        ],
        "capabilities": {"streaming": True, "pushNotifications": True, "extendedAgentCard": False},
        "securitySchemes": {
            "key": {
                "httpAuthSecurityScheme": {
                    "scheme": "Bearer",
                    "description": "A key of the API, which the person makes: `angelia web keys add NAME`.",
                }
            }
        },
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "defaultInputModes": list(TAKEN),
        "defaultOutputModes": list(GIVEN),
        "skills": [
            {
                "id": "ask",
                "name": "Ask",
                "description": "Answers a question or does a task, with the files that come with it, within what the "
                "key allows. A context goes on where its last task ended.",
                "tags": ["question", "task", "files"],
            }
        ],
    }
