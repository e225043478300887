"""Ready-made functions that look at a request and say what the scripted model does."""

from collections.abc import Callable, Sequence

from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.steps import Fail, Speak, Step, call, history_refused, say

Answerer = Callable[[ReceivedRequest], Step]

NO_IMAGE = "IMAGE_NOT_RECEIVED"


def name_the_colour(request: ReceivedRequest) -> Speak:
    """Only the dominant colour's name of the newest picture, or IMAGE_NOT_RECEIVED."""
    images = request.images
    return say(images[-1].colour if images else NO_IMAGE)


def echo(request: ReceivedRequest) -> Speak:
    """The text of the newest message by a person."""
    return say(request.heard.last_words)


def by_replies(steps: Sequence[Step]) -> Answerer:
    """The step whose number is how many replies the request's history holds.

    Unlike a plain list it answers a repeated request (after a kill, after a cut) as it did before.
    """

    def answer(request: ReceivedRequest) -> Step:
        past = request.heard.replies
        return steps[past] if past < len(steps) else _unforeseen(past)

    return answer


def _unforeseen(past: int) -> Fail:
    return history_refused(f"the script ends before a history of {past} replies")


def rounds(count: int, command: str, *, tool: str = "shell", argument: str = "command") -> Answerer:
    """`count` rounds that call the tool with `command`, then the answer `done`. Counts what the history holds."""

    def answer(request: ReceivedRequest) -> Speak:
        past = sum(len(said.calls) for said in request.heard.messages)
        return call(tool, {argument: command}) if past < count else say("done")

    return answer


def instant(request: ReceivedRequest) -> Speak:
    """One short text, at once."""
    return say("ok")
