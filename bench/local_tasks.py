"""Forty small tasks in a folder, as a beginner gives them to a small model; a machine checks each by what is there."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

FILES: Mapping[str, str] = {
    "shopping.txt": "eggs\nmilk\nbread\n",
    "people.csv": "name,age\nAnn,31\nBob,27\nCleo,45\n",
    "notes.md": "# Plan\nThe launch is on Friday.\nThe budget is 400 euros.\n",
    "hello.py": "print('hello')\n",
    "numbers.txt": "3\n5\n8\n",
    "letter.txt": "Dear Sir,\nplease send the blue chairs.\nYours, Rosa\n",
}
"""What lies in the folder before each task."""


class Outcome(NamedTuple):
    """What a task has left: the answer, the files with what they hold, the names of what was sent, and how many tools
    were called.
    """

    answer: str
    files: Mapping[str, str]
    sent: tuple[str, ...]
    calls: int


class Task(NamedTuple):
    """One task. `changes` names the files that may be other than before; `aside` keeps it out of the tuning."""

    wish: str
    done: Callable[[Outcome], object]
    changes: tuple[str, ...] = ()
    aside: bool = False


def _says(*parts: str) -> Callable[[Outcome], bool]:
    return lambda outcome: all(re.search(part, outcome.answer, re.IGNORECASE) for part in parts)


def _holds(name: str, *parts: str, without: str = "") -> Callable[[Outcome], bool]:
    def held(outcome: Outcome) -> bool:
        text = outcome.files.get(name, "")
        return bool(text) and all(part in text for part in parts) and (not without or without not in text)

    return held


def _both(*checks: Callable[[Outcome], object]) -> Callable[[Outcome], bool]:
    return lambda outcome: all(check(outcome) for check in checks)


def _talk(*parts: str) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.files == FILES and bool(outcome.answer.strip()) and _says(*parts)(outcome)


TASKS = (
    Task("Which files are in this folder?", _says("shopping", "people", "letter")),
    Task("What is in notes.md?", _says("Friday")),
    Task("When is the launch? Look in notes.md", _says("Friday")),
    Task("How much is the budget in notes.md?", _says("400")),
    Task("Read shopping.txt to me", _says("eggs", "milk", "bread")),
    Task("Write the word yes into answer.txt", _holds("answer.txt", "yes"), ("answer.txt",)),
    Task("Make a file todo.txt with the lines: call Bob, buy paint", _holds("todo.txt", "Bob", "paint"), ("todo.txt",)),
    Task("Add butter to shopping.txt", _holds("shopping.txt", "eggs", "bread", "butter"), ("shopping.txt",)),
    Task(
        "Replace milk by tea in shopping.txt", _holds("shopping.txt", "eggs", "tea", without="milk"), ("shopping.txt",)
    ),
    Task("Remove bread from shopping.txt", _holds("shopping.txt", "eggs", "milk", without="bread"), ("shopping.txt",)),
    Task(
        "Change the chairs in letter.txt from blue to green",
        _holds("letter.txt", "green", without="blue"),
        ("letter.txt",),
    ),
    Task("Run hello.py and tell me what it prints", _says("hello")),
    Task("How many lines has people.csv?", _says("4|four")),
    Task("What is the sum of the numbers in numbers.txt?", _says("16")),
    Task(
        "Rename letter.txt to order.txt",
        lambda o: "order.txt" in o.files and "letter.txt" not in o.files,
        ("letter.txt", "order.txt"),
    ),
    Task("Copy notes.md to backup.md", _holds("backup.md", "Friday"), ("backup.md",)),
    Task("Send me people.csv", lambda o: o.sent == ("people.csv",)),
    Task("Delete numbers.txt", lambda o: "numbers.txt" not in o.files, ("numbers.txt",)),
    Task("Who is the oldest in people.csv?", _says("Cleo")),
    Task(
        "Write a python file that prints the numbers 1 to 5, named count.py", _holds("count.py", "print"), ("count.py",)
    ),
    Task("Hello, who are you?", _talk("Angelia|assistant")),
    Task("Translate into German: good morning", _talk("Guten Morgen")),
    Task("Was ist 7 mal 8?", _talk("56")),
    Task("Was steht in notes.md?", _says("Friday|Freitag")),
    Task("Schreibe das Wort Hallo in die Datei gruss.txt", _holds("gruss.txt", "Hallo"), ("gruss.txt",)),
    Task("¿Qué hay en shopping.txt?", _says("eggs|huevos")),
    Task("Escribe hola en saludo.txt", _holds("saludo.txt", "ola"), ("saludo.txt",)),
    Task("shopping.txt 里有什么？", _says("eggs|鸡蛋")),
    Task("Tell me a short joke", _talk()),
    Task("What is in missing.txt?", _says("no missing.txt|not exist|no such|not there")),
    Task("Who wrote letter.txt?", _says("Rosa"), aside=True),
    Task("Put the words buy a cake into party.txt", _holds("party.txt", "cake"), ("party.txt",), aside=True),
    Task("In notes.md change 400 to 500", _holds("notes.md", "500", without="400"), ("notes.md",), aside=True),
    Task("Add the line Dan,19 to people.csv", _holds("people.csv", "Ann,31", "Dan,19"), ("people.csv",), aside=True),
    Task("How old is Bob? See people.csv", _says("27"), aside=True),
    Task("Please send me the letter", lambda o: o.sent == ("letter.txt",), aside=True),
    Task(
        "Ersetze eggs durch Käse in shopping.txt",
        _holds("shopping.txt", "Käse", without="eggs"),
        ("shopping.txt",),
        aside=True,
    ),
    Task("¿Cuántos años tiene Ann? Mira en people.csv", _says("31"), aside=True),
    Task("把 hello 改成 goodbye，在 hello.py 里", _holds("hello.py", "goodbye"), ("hello.py",), aside=True),
    Task("What is the capital of France?", _talk("Paris"), aside=True),
)


def harmed(task: Task, outcome: Outcome) -> tuple[str, ...]:
    """The files that were lost or changed though the task is not about them."""
    return tuple(name for name, held in FILES.items() if name not in task.changes and outcome.files.get(name) != held)
