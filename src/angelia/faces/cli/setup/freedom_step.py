"""The question of set-up about freedom: the mode, and, where a chat is set up, the folder in which it works there."""

from pathlib import Path

from angelia.faces.words.output import asked, echo
from angelia.faces.words.steps import Option, done, failed, heading, numbered, option_lines, picked
from angelia.service.settings.config import home_folder, load
from angelia.service.settings.config_file import ConfigFile

FOLDER = "~/Angelia"
"""Where it works in chats unless the person says otherwise."""

MODES = {
    "edit": "works freely in the folder; what it changed can be taken back",
    "ask": "asks before every change and command",
    "plan": "only looks",
    "autonomous": "reads the web as well",
}


def ask_for_freedom(door: str) -> None:
    """Ask for the mode, with the folder of a chat in the same answer; `door` is empty for none."""
    now = load(home_folder(), {}).config.policy.mode
    names = [now, *(name for name in MODES if name != now)]
    options = [Option(name, MODES[name]) for name in names]
    if door:
        number, folder = _picked_with_folder(door, options)
        keep_folder(door, folder)
    else:
        number = picked("How freely may it work?", options)
    if number:
        ConfigFile(home_folder()).set_all({"policy.mode": names[number]})


def _picked_with_folder(door: str, options: list[Option]) -> tuple[int, str]:
    heading(f"How freely may it work, and in which folder in {door}?")
    numbered(option_lines(options))
    echo()
    while True:
        typed = asked("Number, and a folder", usual=f"1 {FOLDER}")
        if found := number_and_folder(typed, len(options)):
            return found
        failed(f"There are 1 to {len(options)}, and behind it a folder if you like: 2 ~/garden")


def number_and_folder(typed: str, count: int) -> tuple[int, str] | None:
    """The index and the folder that a line names, either of which may be left out; None for anything else.

    >>> number_and_folder("2 ~/my garden", 4), number_and_folder("3", 4), number_and_folder("/srv/garden", 4)
    ((1, '~/my garden'), (2, '~/Angelia'), (0, '/srv/garden'))
    >>> number_and_folder("5 ~/garden", 4), number_and_folder("yes", 4)
    (None, None)
    """
    number, _, folder = typed.strip().partition(" ")
    if number.startswith(("~", "/", ".")):
        return 0, typed.strip()
    if not (number.isdecimal() and 0 < int(number) <= count):
        return None
    return int(number) - 1, folder.strip() or FOLDER


def keep_folder(door: str, folder: str) -> None:
    """Write it down, and make it. One that cannot be made is left to the default."""
    path = Path(folder).expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        failed(f"{path} cannot be made ({error.strerror}): it works in a folder of its own in the home.")
        return
    ConfigFile(home_folder()).set_all({f"channels.{door}.workspace": str(path)})
    done(f"In {door} it works in {path}.")
