"""A process that dies says nothing any more: whoever looks at its conversations is told that nobody is there."""

import json
from pathlib import Path

from angelia.testing.model.steps import hang
from tests.faces.angelia import Place, requests, serving


def left_open(place: Place) -> list[bool]:
    return [json.loads(row)["left_open"] for row in place.run("sessions", "--json").out.splitlines()]


def test_a_turn_whose_process_was_killed_is_told_in_the_list_and_in_the_conversation(tmp_path: Path) -> None:
    with serving(tmp_path, [hang(), hang()]) as place:
        with place.chat() as chat:
            chat.types("How many beds?\n")
            chat.until(lambda: len(requests(place)) == 1)
            assert left_open(place) == [False], "somebody is there"
            chat.kill()
        own = json.loads(place.run("sessions", "--json").out)["id"][-8:]
        told = f"{own} has a turn that nobody works on any more: the process that did has ended."
        assert left_open(place) == [True]
        assert f"angelia: {told} angelia chat --resume {own} goes on with it." in place.run("sessions").err
        assert told in place.run("show").out
        with place.chat("--resume", own) as chat:
            chat.until(lambda: len(requests(place)) == 2)
            assert place.run("sessions").err == ""
            assert told not in place.run("show").out
            chat.kill()
