"""A message that waits to be read is taken back, and written anew."""

import os
from pathlib import Path

from angelia.testing.model.steps import call, say
from tests.faces.angelia import CTRL_D, pasted, requests, serving

ALT_UP = "\x1b[1;3A"
GATED = [call("shell", {"command": "cat gate"}), say("As you wish.")]


def test_alt_up_takes_back_the_newest_message_that_waits_and_no_request_carries_it(tmp_path: Path) -> None:
    """Also when the next turn begins; what was sent instead is read, and the one before it as ever."""
    with serving(tmp_path, [*GATED, say("In red.")]) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        os.mkfifo(place.work / "gate")
        terminal.types("begin")
        terminal.sees("▸ $ cat gate")
        terminal.types("look at the east bed")
        terminal.sees("at the next step › look at the east bed")
        terminal.types("/queue paint it blue")
        terminal.sees("after this turn › paint it blue")
        terminal.press("soon")
        terminal.press(ALT_UP)
        terminal.sees("› paint it blue")
        assert place.kinds()[-1] == "MessageTakenBack"
        terminal.press(", or red")  # after the words that came back, before what was typed
        terminal.press("\x1bq")
        terminal.sees(", or red soon")
        (place.work / "gate").write_text("open")
        terminal.sees("In red.")
        terminal.press(CTRL_D)
        assert terminal.ends() == 0
        asked = requests(place)
        assert "look at the east bed" in str(asked[1])
        assert "paint it blue, or red\\nsoon" in str(asked[2])
        assert str(asked[2]).count("paint it blue") == 1
        assert "taken back before it was read" in place.run("show").out


def test_where_none_waits_alt_up_says_so_and_what_is_typed_stays(tmp_path: Path) -> None:
    """The message that opened the turn is not taken back: Esc stops the turn."""
    with serving(tmp_path, GATED) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        os.mkfifo(place.work / "gate")
        terminal.types("begin")
        terminal.sees("▸ $ cat gate")
        terminal.press("and")
        terminal.press(ALT_UP)
        terminal.sees("no message waits to be read that could be taken back")
        terminal.types(" now")
        terminal.sees("at the next step › and now")
        (place.work / "gate").write_text("open")
        terminal.sees("As you wish.")
        assert "MessageTakenBack" not in place.kinds()


def test_what_was_attached_comes_back_with_the_words(tmp_path: Path) -> None:
    """Once, also where the words name it by an @; the file itself is looked at anew then."""
    with serving(tmp_path, GATED) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        os.mkfifo(place.work / "gate")
        for name in ("dropped.txt", "named.txt"):
            (place.work / name).write_text(f"This is {name}.")
        terminal.types("begin")
        terminal.sees("▸ $ cat gate")
        terminal.press(pasted(str(place.work / "dropped.txt")))
        terminal.sees("attached: dropped.txt")
        terminal.types("compare with @named.txt ")
        terminal.sees("at the next step › compare with @named.txt")
        terminal.press(ALT_UP)
        terminal.sees("attached: dropped.txt")
        terminal.types("please")
        terminal.sees("@named.txt please")
        (place.work / "gate").write_text("open")
        terminal.sees("As you wish.")
        said = [fact for fact in place.log() if fact["kind"] == "UserSaid"][-1]
        assert [part.get("name", part.get("text")) for part in said["parts"]] == [
            "compare with @named.txt please",
            "dropped.txt",
            "named.txt",
        ]
