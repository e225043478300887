"""What a small model says was done, held against what was done: where it is not so, the person reads what is."""

import pytest

from angelia.models.local.chat import introduction, named_wrongly
from angelia.models.local.steps import FOLDER, CurrentTurn, StepDone
from angelia.models.local.verification import names_file, unverified

LISTED = StepDone("read", {"path": FOLDER}, True, "/w/ (3 entries)\na.txt\t4 bytes\nb.md\t9 bytes\nsub/")
READ = StepDone("read", {"path": "a.txt"}, True, "1\teggs\n2\tmilk\n3\tmilk cake")


def ran(command: str, said: str = "eggs") -> StepDone:
    return StepDone("shell", {"command": command}, True, f"{said}\n[exit status 0]")


def wrote(path: str, content: str) -> StepDone:
    return StepDone("write", {"path": path, "content": content}, True, "Created.")


def edited(old: str, new: str, path: str = "a.txt") -> StepDone:
    return StepDone("edit", {"path": path, "old": old, "new": new}, True, "Edited.")


FAILED = StepDone("shell", {"command": "x"}, False, "no\n[exit status 2]")
HELD = "# Plan\nOn Friday.\nWe have 400 euros."
PLAN = StepDone("read", {"path": "b.md"}, True, "1\t# Plan\n2\tOn Friday.\n3\tWe have 400 euros.")
REMOVE = "Remove bread from a.txt"
TEA = "Replace milk by tea in a.txt"
COPY = "Copy a.txt to c.txt"

TOLD = (
    ((), "Write yes into c.txt", "I wrote it.", "(Not verified: there is no c.txt in the folder.)"),
    ((ran("echo yes c.txt"),), "Write yes into c.txt", "Done.", "(Not verified: there is no c.txt in the folder.)"),
    ((FAILED,), "Run x", "It ran.", "(Not verified: the last step failed: [exit status 2])"),
    ((ran("sed '/bread/d' a.txt"),), REMOVE, "I removed it.", "(a.txt is as it was: the command only printed"),
    ((wrote("c.txt", COPY),), COPY, f"I copied it: {COPY}", "(Not verified: c.txt holds nothing of a.txt.)"),
    ((READ, wrote("c.txt", "copy of a.txt")), COPY, "copy of a.txt", "(Not verified: c.txt holds nothing of a.txt.)"),
    ((READ, edited("milk", "tea")), TEA, "I replaced it.", "(milk still stands in a.txt, elsewhere.)"),
    (
        (PLAN, wrote("b.md", f"{HELD}\nWe have 500 euros.")),
        "In b.md change 400 to 500",
        f"I changed it: {HELD}\nWe have 500 euros.",
        "(400 still stands in b.md, elsewhere.)",
    ),
    (
        (PLAN, edited("# Plan", "# Plan\nWe have 500 euros.", "b.md")),
        "In b.md change 400 to 500",
        "I changed it: # Plan\nWe have 500 euros.\nOn Friday.\nWe have 400 euros.",
        "(400 still stands in b.md, elsewhere.)",
    ),
    (
        (PLAN, edited("# Plan", "# Plan\nOn Monday.\nWe have 400 euros.", "b.md")),
        "Make it Monday in b.md",
        "I changed it: # Plan\nOn Monday.\nWe have 400 euros.\nOn Friday.\nWe have 400 euros.",
        "(b.md holds this line more often than before: We have 400 euros.)",
    ),
    (
        (READ, edited("eggs", "käse")),
        "Ersetze eggs durch Käse",
        "Es ist: käse",
        "(You wrote Käse, and a.txt holds käse.)",
    ),
    ((READ, wrote("a.txt", "tea")), TEA, "It says: tea", "(a.txt no longer holds: cake, eggs)"),
    ((READ,), TEA, "I replaced milk by tea in a.txt.", "(Nothing was done: no file was changed or sent.)"),
    ((READ,), TEA, "I replaced it. a.txt now says: eggs, tea", "(Nothing was done: no file was changed or sent.)"),
    (
        (PLAN,),
        "In b.md change 400 to 500",
        "# Plan\nOn Friday.\nWe have 500 euros.",
        f"(b.md is as it was and holds:\n{HELD})",
    ),
    ((PLAN,), "Make Friday Monday", "On Monday. We have 400 euros.", "(b.md is as it was and holds:\n# Plan"),
    ((PLAN,), "What may we spend?", "We have 300 euros.", "(b.md is as it was and holds:\n# Plan"),
    ((PLAN,), "Take euros out", "Plan\nOn Friday.\nWe have 400", "(b.md is as it was and holds:\n# Plan"),
    ((PLAN,), "Take the word Plan out", "On Friday.\nWe have 400 euros.", "(b.md is as it was and holds:\n# Plan"),
    ((PLAN,), "Read b.md", "Plan\nOn Sunday.\nWe have 400 euros.", "(b.md is as it was and holds:\n# Plan"),
    (
        (PLAN, wrote("c.txt", "x")),
        "Write x into c.txt",
        "x. We have 5 euros.",
        "(b.md is as it was and holds:\n# Plan",
    ),
    ((), "Send me b.md", "Here is b.md.", "(Nothing was done: no file was changed or sent.)"),
    ((wrote("c.txt", "Hello"),), "Escribe hola en c.txt", "Escribí hola.", "(c.txt now holds:\nHello)"),
    ((wrote("c.txt", "x\n" * 200),), "Write c.txt", "Done.", "(c.txt now holds 200 lines.)"),
)

HOLD = (
    ((READ, edited("eggs", "eggs\nmilk")), "Add milk to a.txt", "a.txt now says:\neggs\nmilk\nmilk\nmilk cake"),
    ((wrote("c.txt", "yes\n"),), "Write yes into c.txt", "I wrote it. c.txt says: yes"),
    ((ran("cp a.txt c.txt"),), COPY, "a.txt was copied."),
    ((READ, wrote("c.txt", "eggs\nmilk\nmilk cake")), COPY, "c.txt holds:\neggs\nmilk\nmilk cake"),
    ((READ, wrote("c.txt", "eggs and a cake")), "Sum up a.txt in c.txt", "It says: eggs and a cake"),
    ((ran("sed -i '/bread/d' a.txt"),), REMOVE, "I removed it."),
    ((ran("sed '/bread/d' a.txt > b.md"),), "Copy a.txt without bread to b.md", "I did."),
    ((ran("wc -l a.txt", "3 a.txt"),), "How many lines has a.txt?", "It has 3 lines."),
    ((READ,), "What is in a.txt?", "a.txt says:\neggs\nmilk\nmilk cake"),
    ((READ,), "Was steht in a.txt?", "In a.txt steht: eggs, milk, milk cake"),
    ((PLAN,), "What is in b.md?", "On Friday. We have 400 euros."),
    ((PLAN,), "What is planned?", "# Plan\nOn Friday. 400 euros."),
    ((PLAN,), "Sum up b.md", "On Friday, and we have got 400 euros."),
    ((PLAN,), "Sum up b.md", "The plan: on Friday (day 5) there are 400 euros."),
    ((PLAN,), "What does 400 mean in b.md?", "We own 400 euros."),
    ((PLAN, ran("sed -i s/400/500/ b.md", "")), "In b.md change 400 to 500", "We have 500 euros."),
    ((), "Which files are there?", "There are a.txt and b.md."),
    ((StepDone("send_file", {"path": "b.md"}, True, "Queued."),), "Send me b.md", "Here is b.md."),
)


def done(steps: tuple[StepDone, ...], wish: str) -> CurrentTurn:
    """A turn in which the folder was looked at."""
    return CurrentTurn(wish, (LISTED, *steps), shows_media=False)


@pytest.mark.parametrize(("steps", "wish", "answer", "told"), TOLD)
def test_what_is_not_so_is_told_beside_the_words(
    steps: tuple[StepDone, ...], wish: str, answer: str, told: str
) -> None:
    assert unverified(done(steps, wish), answer).startswith(told)


@pytest.mark.parametrize(("steps", "wish", "answer"), HOLD)
def test_beside_what_is_so_stands_nothing(steps: tuple[StepDone, ...], wish: str, answer: str) -> None:
    assert unverified(done(steps, wish), answer) == ""


@pytest.mark.parametrize(
    ("answer", "noted"),
    [
        ("I am a large language model created by Alibaba Cloud.", True),
        ("我是AI助手，由OpenAI开发。", True),
        ("I am Angelia, an agent on your own machine.", False),
        ("Paris.", False),
        ("A small model speaks for me, qwen2.5-coder-1.5b; it runs here.", False),
        ("Android is made by Google. " + "It runs on telephones of many makers. " * 8, False),
    ],
)
def test_who_speaks_is_told_where_an_answer_names_another_maker(answer: str, noted: bool) -> None:
    note = "(I am Angelia; the model that speaks is qwen2.5-coder-1.5b, on this machine.)"
    assert named_wrongly(answer, "qwen2.5-coder-1.5b") == (note if noted else "")


def test_who_speaks_stands_before_what_is_asked() -> None:
    (_, who, _, made) = introduction("/models/tiny.gguf")
    assert who["content"] == "I am Angelia, an agent on your own machine."
    assert "tiny; it runs here" in made["content"]


@pytest.mark.parametrize(
    ("wish", "named"), [("Escribe hola en saludo.txt", True), ("What is the sum of 2 and 3.5?", False)]
)
def test_a_file_is_spoken_of_by_its_name_in_any_language(wish: str, named: bool) -> None:
    assert names_file(wish) is named
