"""A question to a person as every door shows it: the whole of what a yes would be to, with nothing hidden in it."""

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.entry import ApprovalAsked, QuestionKind
from angelia.core.ids import call_that_asks
from angelia.core.unambiguous import readable, unambiguous, unambiguous_line


class ShownQuestion(Struct, frozen=True):
    """A question, safe to print; each part may be put where a door has a place for it, and none may be left out.

    `title` is one line for a permission, `whole` are lines and empty where the title says everything, `why` is the
    reason for asking. `pattern` is what a lasting yes would cover, empty where there is none.
    """

    title: str
    whole: str
    why: str
    pattern: str
    choices: tuple[str, ...]

    @property
    def lines(self) -> int:
        """How many lines the whole has."""
        return self.whole.count("\n") + 1 if self.whole else 0


def shown_question(asked: ApprovalAsked) -> ShownQuestion:
    """A question as it is shown; no door reads the fact's own texts."""
    own = asked.asks is QuestionKind.CHOICE
    return ShownQuestion(
        readable(asked.question) if own else unambiguous_line(asked.question),
        unambiguous(asked.whole),
        unambiguous_line(asked.why),
        unambiguous_line(asked.pattern),
        tuple(map(readable, asked.choices)),
    )


def title_in_markdown(asked: ApprovalAsked) -> bool:
    """Whether the title is the model's own, and meant as Markdown. What a call asks while it runs is a server's: no
    link in it is to look like another.

    >>> title_in_markdown(ApprovalAsked("c1_0~1", "[Here](https://a.example)", "d", asks=QuestionKind.CHOICE))
    False
    """
    return asked.asks is QuestionKind.CHOICE and call_that_asks(asked.call) == asked.call


def asked_by(child: str, asked: ApprovalAsked) -> ApprovalAsked:
    """The question of a child conversation as its parent asks it: under its name, and still the whole of it.

    >>> asked_by("h1", ApprovalAsked("c2_0", "Run `make`?", "d")).question
    '[h1] Run `make`?'
    """
    return replace(asked, question=f"[{child}] {asked.question}")
