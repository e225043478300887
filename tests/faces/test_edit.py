"""An earlier message is said otherwise: in a fork from before it, and the conversation as it was stays."""

from pathlib import Path

import pytest

from angelia.core.content import Text
from angelia.core.errors import BadInput
from angelia.service.conversation.earlier_messages import EarlierMessage, chosen_message
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.steps import say
from tests.faces.angelia import requests, serving


def test_an_edited_message_goes_on_from_before_it_and_the_former_conversation_stays(tmp_path: Path) -> None:
    with serving(tmp_path, [say("First."), say("Second.")]) as place, place.chat() as terminal:
        (place.work / "a.png").write_bytes(one_colour("blue"))
        terminal.types("one")
        terminal.sees("First.")
        terminal.types("/image a.png")
        terminal.sees("a.png")
        terminal.types("two")
        terminal.sees("Second.")
        terminal.types("/edit")
        terminal.sees("/edit 1 OTHER WORDS")
        terminal.types("/edit 1 otherwise")
        terminal.sees("A fork from before “two”")
        terminal.sees("Second.")
        terminal.types("/edit 2 from the start")
        terminal.sees("A fork from before “one”")
        terminal.sees("First.")
        terminal.types("/quit")
        assert terminal.ends() == 0
        _, second, edited, first = (one["body"] for one in requests(place))
        assert edited["messages"][:-1] == second["messages"][:-1]
        assert str(edited["messages"][-1]) == str(second["messages"][-1]).replace("two", "otherwise")
        assert "from the start" in str(first)
        assert "First." not in str(first)
        listed = place.run("sessions").out
        assert [listed.count(words) for words in ("one", "from the start")] == [2, 1], listed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("otherwise", "Which message should be said otherwise?"),
        ("0 otherwise", "Which message should be said otherwise?"),
        ("2 otherwise", "Turns began with 1 of your messages here, and none of number 2."),
        ("1", "What should it say instead of “one”?"),
    ],
)
def test_an_edit_that_names_no_message_or_says_nothing_is_refused(words: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        chosen_message([EarlierMessage(2, (Text("one"),))], words)
    assert said in str(refused.value)
