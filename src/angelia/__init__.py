"""Angelia: a self-hosted agent in which nothing is lost and nothing is silent.

The names in `__all__` are what is promised to programs: `angelia docs use-from-python` says for how long. Each is
imported when it is first used, so that `import angelia` costs nothing.
"""

TYPE_CHECKING = False
"""As type checkers know it; `typing` would take longer to import than all of this."""

if TYPE_CHECKING:
    from angelia.core import ending as endings
    from angelia.core.content import CallStatus
    from angelia.core.entry import Scope, Usage
    from angelia.core.errors import AngeliaError
    from angelia.faces.python import events
    from angelia.faces.python.agent import Agent
    from angelia.faces.python.answers import Answer, NotAnswered
    from angelia.faces.python.blocking import BlockingAgent, BlockingConversation, BlockingTurn
    from angelia.faces.python.conversation import Conversation
    from angelia.faces.python.questions import Question
    from angelia.faces.python.turn_stream import TurnStream
    from angelia.faces.words.program_delivery import SentFile
    from angelia.faces.words.questions import No, Yes
    from angelia.policy.verdict import Act, NoEffect
    from angelia.service.batches.check_context import CheckContext
    from angelia.tools.function_tool import tool

    __version__: str

__all__ = [
    "Act",
    "Agent",
    "AngeliaError",
    "Answer",
    "BlockingAgent",
    "BlockingConversation",
    "BlockingTurn",
    "CallStatus",
    "CheckContext",
    "Conversation",
    "No",
    "NoEffect",
    "NotAnswered",
    "Question",
    "Scope",
    "SentFile",
    "TurnStream",
    "Usage",
    "Yes",
    "endings",
    "events",
    "tool",
]

_NAMES = {
    "Act": "angelia.policy.verdict",
    "Agent": "angelia.faces.python.agent",
    "AngeliaError": "angelia.core.errors",
    "Answer": "angelia.faces.python.answers",
    "BlockingAgent": "angelia.faces.python.blocking",
    "BlockingConversation": "angelia.faces.python.blocking",
    "BlockingTurn": "angelia.faces.python.blocking",
    "CallStatus": "angelia.core.content",
    "CheckContext": "angelia.service.batches.check_context",
    "Conversation": "angelia.faces.python.conversation",
    "No": "angelia.faces.words.questions",
    "NoEffect": "angelia.policy.verdict",
    "NotAnswered": "angelia.faces.python.answers",
    "Question": "angelia.faces.python.questions",
    "Scope": "angelia.core.entry",
    "SentFile": "angelia.faces.words.program_delivery",
    "TurnStream": "angelia.faces.python.turn_stream",
    "Usage": "angelia.core.entry",
    "Yes": "angelia.faces.words.questions",
    "tool": "angelia.tools.function_tool",
}
_MODULES = {"endings": "angelia.core.ending", "events": "angelia.faces.python.events"}


def __getattr__(name: str) -> object:
    """A name on its first use; afterwards it is an ordinary one."""
    from importlib import import_module

    found: object
    if name == "__version__":
        found = import_module("angelia.core.version").PACKAGE_VERSION
    elif name in _MODULES:
        found = import_module(_MODULES[name])
    elif name in _NAMES:
        found = getattr(import_module(_NAMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
