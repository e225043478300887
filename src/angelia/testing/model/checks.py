"""What every provider of models has to keep, as claims to run against your own."""

from collections.abc import Sequence

from angelia.context.request import ModelRequest, RequestMessage, Role
from angelia.core.content import Text, ToolCall
from angelia.core.profile import Profile
from angelia.models.port import Credential, Piece, Provider, Reply, TextDelta

KEY = Credential("test", "sk-test")


def ask_for(profile: Profile, *messages: RequestMessage) -> ModelRequest:
    """A request without tools."""
    return ModelRequest(profile, "Be brief.", (), messages, generation=1, max_output=1000)


async def check_provider(provider: Provider, profile: Profile) -> None:
    """One conversation of two questions, in words.

    Raises:
        AssertionError: what it does not keep, in a sentence.
        ModelError: the provider could not answer.
    """
    session = provider.session()
    assert session is not None, "each conversation has a session"
    first = RequestMessage(1, Role.USER, (Text("Say hello."),))
    reply = _reply([piece async for piece in session.ask(ask_for(profile, first), KEY)])
    said = RequestMessage(2, Role.ASSISTANT, reply.parts, maker=profile.vendor)
    second = RequestMessage(3, Role.USER, (Text("And once more."),))
    _reply([piece async for piece in session.ask(ask_for(profile, first, said, second), KEY)])


def _reply(pieces: Sequence[Piece]) -> Reply:
    """The reply that these pieces end with."""
    replies = [piece for piece in pieces if isinstance(piece, Reply)]
    assert len(replies) == 1, f"a request brings exactly one Reply, and brought {len(replies)}"
    reply = replies[0]
    assert pieces[-1] is reply, "nothing comes after the Reply"
    assert reply.parts, "a reply without parts is an EMPTY_REPLY, not a Reply"
    named = [part.id for part in reply.parts if isinstance(part, ToolCall) and part.id]
    assert not named, f"ToolCall.id stays empty, since the log names calls; these have one: {named}"
    streamed = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    whole = "".join(part.text for part in reply.parts if isinstance(part, Text))
    assert streamed in ("", whole), f"the pieces add up to the reply: {streamed!r} is not {whole!r}"
    assert reply.usage.input >= 0
    assert reply.usage.output >= 0
    return reply
