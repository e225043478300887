"""How a call reaches its person."""

from collections.abc import Callable

from msgspec import Struct

from angelia.tools.asking import AskMeanwhile, nobody


def _untold(_: str) -> None:
    return


class CallPerson(Struct, frozen=True):
    """`ask` puts a question; `note` takes a sentence for the model about what was asked and not answered."""

    ask: AskMeanwhile
    note: Callable[[str], None]


NOBODY = CallPerson(nobody, _untold)
