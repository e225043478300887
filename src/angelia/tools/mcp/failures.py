"""Ways in which a server fails, and the words for them."""

from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line


class Unavailable(AngeliaError):
    """The server cannot be used now; nothing was sent to it."""


_OF_THE_REQUEST = (0, -32700, -32600, -32601, -32602)
"""What JSON-RPC has for a message that is none or asks for what is not there, and 0 of an answer that is none."""


class ServerRefused(Exception):
    """The server answered with an error. `gone`: it had forgotten us, and did nothing. `code` is JSON-RPC's, 0 where
    its answer is none of the protocol's.
    """

    def __init__(self, said: str, *, gone: bool, code: int = 0) -> None:
        self.said, self.gone = one_line(clean(said), 1_000), gone
        self.code = code
        super().__init__(self.said)

    @property
    def passes(self) -> bool:
        """Whether it may answer otherwise when it is asked again: it is busy, or something is wrong with it."""
        return self.code not in _OF_THE_REQUEST


class ServerLost(Exception):
    """The connection ended before an answer came: the call may or may not have taken effect."""


class AnswerLost(ServerLost):
    """The answer to this request alone did not come whole; others go on."""


NO_ANSWER = "Server returned an error response"
"""What the library says in the place of an answer that is none of the protocol's: its status is all there is to it,
and on the older transport what the site said beside it (`refused_posts.py`).
"""


_FORGOTTEN = ("session", "not initialized")
"""One of these is in what the official servers say to a session that they do not know: "Session not found", "No valid
session ID provided", and "Server not initialized" of one in TypeScript that has a single session.
"""


def by_status(refused: ServerRefused, status: int) -> ServerRefused | ServerLost:
    """What a refusal is, by the HTTP status that the very request was answered with; 0 for a program.

    The official servers answer 404 or 400 to a session that they do not know. Where the server itself has not answered
    (a proxy before it says that it is gone, or takes too long), nobody knows what it did.
    """
    if status in (400, 404) and any(word in refused.said.lower() for word in _FORGOTTEN):
        return ServerRefused(refused.said, gone=True, code=refused.code)
    if not refused.said.startswith(NO_ANSWER) or not status:
        return refused
    said = f"HTTP {status}{refused.said.removeprefix(NO_ANSWER)}"
    if status >= 500:
        return ServerLost(f"answered with {said}")
    return ServerRefused(said, gone=False, code=refused.code)


def leaf(error: BaseException) -> BaseException:
    """What really went wrong: the first error of a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def in_words(error: BaseException) -> str:
    """Why a connection failed, as the end of a sentence, for people and models."""
    found = leaf(error)
    said = one_line(clean(str(found)), 300)
    match found:
        case AngeliaError():
            return one_line(clean(f"{found.what} {found.why}"), 300).rstrip(".")
        case ServerLost():
            return "it went away"
        case TimeoutError():
            return "it did not say hello in time"
        case OSError() if found.strerror:
            return found.strerror
        case _:
            kind = type(found).__name__
            return f"{kind}: {said}" if said else kind
