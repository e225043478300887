"""A conversation over several lives and terminals: it goes on where it was, and nothing is said twice."""

from pathlib import Path

from angelia.service.conversation.terminal_delivery import AGAIN
from angelia.testing.model.steps import How, cut_after, say
from tests.faces.angelia import CTRL_D, requests, serving

LONG = "The answer begins here and goes on for quite a while before it ends."


def test_going_on_shows_the_last_exchange_and_the_model_knows_it(tmp_path: Path) -> None:
    with serving(tmp_path, [say("I shall remember the word plum."), say("Plum it was.")]) as place:
        with place.chat() as terminal:
            terminal.types("the word is plum")
            terminal.sees("I shall remember")
            terminal.press(CTRL_D)
            terminal.ends()
        with place.chat("--continue") as terminal:
            terminal.sees("› the word is plum")
            terminal.sees("I shall remember the word plum.")
            terminal.types("which word?")
            terminal.sees("Plum it was.")
        assert "the word is plum" in str(requests(place)[-1])


def test_an_answer_that_a_kill_kept_from_the_screen_is_delivered_once_when_it_is_opened_again(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Forty-two."), say("more")]) as place:
        with place.chat(at="turn.closed:1") as terminal:
            terminal.types("what is it?")
            assert terminal.ends() == -9
        assert "DeliverySettled" not in place.kinds()
        with place.chat("--continue") as terminal:
            terminal.sees("Forty-two.")
            terminal.press(CTRL_D)
            terminal.ends()
            assert terminal.seen.count("Forty-two.") == 1
            assert "it may stand there already" in terminal.seen
        assert place.kinds().count("DeliverySettled") == 1
        assert len(requests(place)) == 1


def test_a_turn_that_a_kill_interrupted_goes_on_when_it_is_opened_again(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Here you are.")]) as place:
        with place.chat(at="model.asked:1") as terminal:
            terminal.types("a tale, please")
            assert terminal.ends() == -9
        with place.chat("--continue") as terminal:
            terminal.sees("going on with the turn that was open")
            terminal.sees("Here you are.")


def test_an_answer_that_a_killed_life_may_have_shown_is_shown_again_with_its_mark(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Here you are."), say("And again.")]) as place:
        with place.chat(at="delivery.shown:1") as terminal:
            terminal.types("a tale, please")
            assert terminal.ends() == -9
        with place.chat("--continue") as terminal:
            terminal.sees("it may stand there already")
            terminal.sees("Here you are.")
            terminal.press(CTRL_D)
            assert terminal.ends() == 0
        with place.chat("--continue", at="delivery.shown:1") as terminal:
            terminal.types("once more")
            assert terminal.ends() == -9
        asked = place.ask("--continue")
        assert (asked.code, asked.out) == (0, "And again.\n")
        assert AGAIN in asked.err
        assert AGAIN not in place.ask("--continue").err


def test_leaving_in_the_middle_of_a_turn_says_that_it_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path, [cut_after(say(LONG), 2, how=How.SILENCE)]) as place, place.chat() as terminal:
        terminal.types("hello")
        terminal.sees("The")
        terminal.press(CTRL_D)
        assert terminal.ends() == 0
        assert "it goes on when you open the conversation again" in terminal.seen
        assert "TurnClosed" not in place.kinds()


def test_a_second_terminal_follows_the_same_conversation(tmp_path: Path) -> None:
    with serving(tmp_path, [say("First."), say("Second.")]) as place, place.chat() as one:
        one.types("hello")
        one.sees("First.")
        with place.chat("--continue") as two:
            two.sees("First.")
            one.types("again")
            two.sees("› again")
            two.sees("Second.")
            one.sees("Second.")
        assert len(requests(place)) == 2


def test_ending_the_process_leaves_the_terminal_in_order(tmp_path: Path) -> None:
    with serving(tmp_path, [say("First.")]) as place, place.chat() as terminal:
        terminal.types("hello")
        terminal.sees("First.")
        terminal.terminate()
        terminal.sees("To go on: angelia chat --resume")
        assert terminal.ends() == 0
