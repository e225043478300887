"""A conversation in a terminal: what a person sees, and what their keys do."""

import os
from base64 import b64encode
from pathlib import Path

from angelia.testing.model.pictures import one_colour
from angelia.testing.model.steps import How, call, cut_after, say
from tests.faces.angelia import ALT_ENTER, CTRL_C, CTRL_D, ESC, pasted, requests, serving

LONG = "The answer begins here and goes on for quite a while before it ends."


def test_a_conversation_goes_back_and_forth_and_can_be_left(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Good morning."), say("You said: twice.")]) as place, place.chat() as terminal:
        terminal.sees("/help lists commands and keys")
        terminal.types("hello")
        terminal.sees("› hello")
        terminal.sees("Good morning.")
        terminal.sees("ready")
        terminal.types("and again")
        terminal.sees("You said: twice.")
        terminal.press(CTRL_D)
        terminal.sees("To go on: angelia chat --resume")
        assert terminal.ends() == 0
        said = [fact for fact in place.log() if fact["kind"] in ("UserSaid", "ModelSaid", "DeliverySettled")]
        assert [fact["kind"] for fact in said] == ["UserSaid", "ModelSaid", "DeliverySettled"] * 2


def test_an_answer_is_printed_once_and_rendered(tmp_path: Path) -> None:
    markdown = "# Heading\n\nSome **bold** words and `code`.\n\n- an item"
    with serving(tmp_path, [say(markdown)]) as place, place.chat(NO_COLOR="") as terminal:
        terminal.sees("/help")
        terminal.types("hello")
        terminal.sees("• an item")
        terminal.sees("ready")
        terminal.press(CTRL_D)
        assert terminal.ends() == 0
        shown = terminal.screen
        assert [shown.count(words) for words in ("Heading", "Some bold words and code.", " • an item")] == [1, 1, 1]


def test_an_answer_that_names_a_file_is_printed_once_without_its_line(tmp_path: Path) -> None:
    answer = say("- an item\n\nMEDIA:may.txt")
    with serving(tmp_path, [answer]) as place, place.chat(NO_COLOR="") as terminal:
        (place.work / "may.txt").write_text("a fine month")
        terminal.types("send it")
        terminal.sees("may.txt:")
        terminal.press(CTRL_D)
        assert terminal.ends() == 0
        assert (place.home / "outbox" / "may.txt").read_text() == "a fine month"
        assert terminal.screen.count("an item") == 1
        assert "MEDIA:" not in terminal.seen


def test_what_a_tool_does_is_seen_with_its_result_and_its_diff(tmp_path: Path) -> None:
    steps = [
        say("First I write.") + call("write", {"path": "a.txt", "content": "one\ntwo\n"}),
        call("read", {"path": "missing.txt"}),
        say("Done."),
    ]
    with serving(tmp_path, steps) as place, place.chat() as terminal:
        terminal.types("go")
        terminal.sees("First I write.")
        terminal.sees("✔ write a.txt")
        terminal.sees("+two")
        terminal.sees("✘ read missing.txt")
        terminal.sees("Done.")
        assert (place.work / "a.txt").read_text() == "one\ntwo\n"


def test_text_is_seen_while_it_comes(tmp_path: Path) -> None:
    with serving(tmp_path, [cut_after(say(LONG), 4, how=How.SILENCE)]) as place, place.chat() as terminal:
        terminal.types("hello")
        terminal.sees("The answer")
        terminal.press(CTRL_C)
        terminal.sees("broke off here")
        terminal.sees("Stopped.")
        assert "The answer" in terminal.screen
        assert "before it ends" not in terminal.seen


def test_typing_while_it_works_is_acknowledged_at_once_and_read_at_the_next_step(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "cat gate"}), say("As you wish.")]
    with serving(tmp_path, steps) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        os.mkfifo(place.work / "gate")
        terminal.types("begin")
        terminal.sees("▸ $ cat gate")
        terminal.types("in blue, please")
        terminal.sees("at the next step › in blue, please")
        terminal.types("/queue and then rest")
        terminal.sees("after this turn › and then rest")
        (place.work / "gate").write_text("open")
        terminal.sees("As you wish.")
        asked = requests(place)
        assert "in blue, please" not in str(asked[0])
        assert "in blue, please" in str(asked[1])
        assert "and then rest" not in str(asked[1])


def test_ctrl_c_stops_the_turn_and_says_so_and_once_more_leaves(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "cat gate"}), say("never said")]
    with serving(tmp_path, steps) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        os.mkfifo(place.work / "gate")
        terminal.types("begin")
        terminal.sees("▸ $ cat gate")
        terminal.press(CTRL_C)
        terminal.sees("Stopped.")
        terminal.press(CTRL_C)
        assert terminal.ends() == 0
        assert place.kinds()[-3:] == ["TurnClosed", "DeliveryQueued", "DeliverySettled"]
        assert "never said" not in terminal.seen


def test_esc_stops_the_turn(tmp_path: Path) -> None:
    with serving(tmp_path, [cut_after(say(LONG), 2, how=How.SILENCE)]) as place, place.chat() as terminal:
        terminal.types("hello")
        terminal.sees("The")
        terminal.press(ESC)
        terminal.sees("Stopped.")
        assert "TurnClosed" in place.kinds()


def test_several_lines_are_one_message(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--echo") as place, place.chat() as terminal:
        terminal.sees("/help")
        terminal.press("one")
        terminal.press(ALT_ENTER)
        terminal.press("two\\")
        terminal.types("")
        terminal.types("three")
        terminal.sees("› one")
        terminal.sees("three")
        terminal.press(CTRL_D)
        terminal.ends()
        said = next(fact for fact in place.log() if fact["kind"] == "UserSaid")
        assert said["parts"][0]["text"] == "one\ntwo\nthree"


def test_a_dropped_picture_goes_with_the_next_message(tmp_path: Path) -> None:
    (tmp_path / "a picture.png").write_bytes(one_colour("blue"))
    with serving(tmp_path, [], "--colour") as place, place.chat() as terminal:
        terminal.press(pasted(f"'{tmp_path}/a picture.png'"))
        terminal.sees("attached: a picture.png")
        terminal.types("which colour?")
        terminal.sees("blue")
        assert len(requests(place)[0]["images"]) == 1


def test_commands_do_what_they_say(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Noted.")] * 3) as place, place.chat() as terminal:
        terminal.types("/help")
        terminal.sees("/receipts")
        terminal.types("/mode plan")
        terminal.sees("only looks; nothing is changed")
        terminal.types("/nonsense")
        terminal.sees("There is no command /nonsense.")
        terminal.types("remember this")
        terminal.sees("Noted.")
        terminal.types("/model openai-responses:other")
        terminal.sees("The model is openai-responses:other from the next message on")
        terminal.types("and this")
        terminal.sees("Noted.")
        terminal.types("/export kept.md")
        terminal.sees("Written to")
        terminal.types("/new")
        terminal.sees("A new conversation in")
        terminal.types("/sessions")
        terminal.sees("remember this")
        terminal.press(ESC)
        terminal.sees("ready")
        terminal.types("/quit")
        assert terminal.ends() == 0
        assert [asked["wire"] for asked in requests(place)] == ["openai-chat", "openai-responses"]
        assert "remember this" in (place.work / "kept.md").read_text()


def test_a_terminal_that_cannot_move_its_cursor_is_talked_to_in_whole_lines(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Plainly said.")]) as place, place.chat(TERM="dumb") as terminal:
        terminal.sees("/help")
        terminal.press("hello\n")
        terminal.sees("Plainly said.")
        terminal.press(CTRL_C)
        terminal.sees("Ctrl-C once more leaves")
        terminal.press(CTRL_C)
        assert terminal.ends() == 0
        assert "\x1b" not in terminal.seen


def test_a_model_that_cannot_be_used_ends_the_conversation_with_a_sentence(tmp_path: Path) -> None:
    with serving(tmp_path, [say("never")]) as place, place.chat(OPENAI_API_KEY="") as terminal:
        terminal.sees("There is no key for openai-chat:test.")
        assert terminal.ends() == 1


def test_escape_sequences_in_a_reply_never_reach_the_terminal(tmp_path: Path) -> None:
    with serving(tmp_path, [say("safe \x1b]0;owned\x07 and \x1b[2Jsound")]) as place, place.chat() as terminal:
        terminal.types("hello")
        terminal.sees("safe ␛]0;owned␇ and ␛[2Jsound")
        assert "\x1b]0;" not in terminal.seen


def test_a_failed_command_shows_its_last_lines_and_all_of_them_when_asked(tmp_path: Path) -> None:
    command = "for n in $(seq 1 40); do echo line $n; done; echo '    at its place'; exit 3"
    steps = [call("shell", {"command": command}), say("It failed.")]
    with serving(tmp_path, steps) as place, place.chat() as terminal:
        terminal.types("run it")
        terminal.sees("· exit 3 ·")
        terminal.sees("31 more lines above · Ctrl-O or /view shows all")
        terminal.sees("┆ line 32")
        terminal.sees("It failed.")
        assert "┆     at its place" in terminal.screen, "its own indentation is kept"
        assert "┆ line 31" not in terminal.screen
        terminal.press("\x0f")
        terminal.sees("41 lines of: $ for n in")
        terminal.sees("┆ line 1")
        terminal.sees("┆ line 31")
        terminal.types("/view 2")
        terminal.sees("One output can be shown whole here")


def test_a_whole_output_is_searched_and_copied_in_a_view_that_leaves_no_trace(tmp_path: Path) -> None:
    command = "seq -f 'line %g' 400; exit 3"
    with serving(tmp_path, [call("shell", {"command": command}), say("It failed.")]) as place, place.chat() as terminal:
        terminal.types("run it")
        terminal.sees("It failed.")
        terminal.sees("ready")
        terminal.comes_to_rest()
        before = terminal.screen
        terminal.types("/view")
        terminal.sees("line 399")
        terminal.sees("400 lines of: $ seq")
        terminal.press("/LINE 57\r")
        terminal.until(lambda: terminal.screen.startswith("line 57\nline 58"))
        terminal.press("c")
        terminal.until(lambda: "copied, if this terminal lets programs copy" in terminal.screen)
        whole = "".join(f"line {number}\n" for number in range(1, 401))
        assert f"\x1b]52;c;{b64encode(whole.encode()).decode()}\x07" in terminal.seen
        terminal.press("q")
        terminal.until(lambda: "ready" in terminal.screen)
        terminal.comes_to_rest()
        assert terminal.screen == before


def test_ctrl_c_throws_away_what_is_typed_and_the_turn_goes_on(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "cat gate"}), say("Through.")]
    with serving(tmp_path, steps) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        os.mkfifo(place.work / "gate")
        terminal.types("begin")
        terminal.sees("cat gate")
        terminal.press("not this")
        terminal.until(lambda: "› not this" in terminal.screen)
        terminal.press(CTRL_C)
        terminal.until(lambda: "not this" not in terminal.screen)
        (place.work / "gate").write_text("open")
        terminal.sees("Through.")
        terminal.sees("ready")
        endings = [fact["ending"]["kind"] for fact in place.log() if fact["kind"] == "TurnClosed"]
        assert endings == ["Answered"]


def test_what_was_not_read_when_a_turn_is_stopped_is_told_to_be_read_next(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "cat gate"}), say("Seen.")]
    with serving(tmp_path, steps) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        os.mkfifo(place.work / "gate")
        terminal.types("begin")
        terminal.sees("cat gate")
        terminal.types("and the beans")
        terminal.sees("at the next step")
        terminal.press(ESC)
        terminal.sees("Stopped.")
        terminal.sees("and the beans")
        terminal.sees("the model reads it with your next message")
        terminal.types("go on")
        terminal.sees("Seen.")
        assert "and the beans" in str(requests(place)[-1]["body"])


def test_a_block_of_code_is_copied_exactly(tmp_path: Path) -> None:
    code = "def f():\n\treturn  '日本'  \n\n\n# end"
    with serving(tmp_path, [say(f"One:\n\n```python\n{code}\n```\n\nAnd `more`.")]) as place, place.chat() as terminal:
        terminal.types("code, please")
        terminal.sees("And more.")
        terminal.types("/copy")
        terminal.sees("Copied 5 lines")
        copied = b64encode(f"{code}\n".encode()).decode()
        assert f"\x1b]52;c;{copied}\x07" in terminal.seen


def test_the_plan_is_shown_with_its_marks_and_told_at_the_end(tmp_path: Path) -> None:
    items = [{"text": "sow", "status": "done"}, {"text": "water", "status": "active"}, {"text": "reap"}]
    steps = [call("todo", {"items": items}), call("shell", {"command": "cat gate"}), say("Not yet.\n\nLater.")]
    with serving(tmp_path, steps) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        os.mkfifo(place.work / "gate")
        terminal.types("begin")
        terminal.sees("✔ sow")
        terminal.sees("▸ water")
        terminal.sees("· reap")
        terminal.press("\x14")
        terminal.sees("plan 1/3 ▸ water")
        (place.work / "gate").write_text("open")
        terminal.sees("plan: 1 of 3 done; next: water")
        assert "note the plan" not in terminal.screen
        terminal.until(lambda: terminal.screen.find("plan: 1 of 3") > terminal.screen.find("Later.") > 0)


def test_who_waits_for_an_answer_is_called(tmp_path: Path) -> None:
    steps = [call("ask_user", {"question": "Which?", "choices": ["a", "b"]}), say("Fine.")]
    with serving(tmp_path, steps) as place, place.chat() as terminal:
        terminal.types("choose")
        terminal.sees("or write your answer")
        terminal.sees("waiting for your answer")
        terminal.comes_to_rest()
        assert "\x07\x1b]9;Angelia waits for your answer\x07" in terminal.seen


def test_plain_words_are_added_line_by_line_without_marks(tmp_path: Path) -> None:
    steps = [say("First.") + call("shell", {"command": "echo out; exit 2"}), say("Plainly **said**.\n\n- an item")]
    with serving(tmp_path, steps) as place, place.chat("--plain") as terminal:
        terminal.sees("You:")
        terminal.press("hello\n")
        terminal.sees("Running: $ echo out; exit 2")
        terminal.sees("Failed: $ echo out; exit 2 · exit 2")
        terminal.sees("- an item")
        terminal.sees("You:")
        terminal.press(CTRL_D)
        assert terminal.ends() == 0
        assert "\x1b" not in terminal.seen
        assert terminal.seen.count("hello") == 1, "the terminal itself shows what is typed"
        assert not {"›", "✔", "✘", "▸", "┆"} & set(terminal.seen)
