"""The tasks of a batch, read from JSON lines, TOML or a folder; what is wrong is said before anything is asked.

    {"id": "sum", "prompt": "Add up the column kg.", "files": ["harvest.csv"], "check": "grep -q 56.5 answer.txt"}

A line of a `.jsonl` file is a task, and so is each `[[task]]` of a `.toml` file, whose `[defaults]` hold for all. In a
folder each folder is one: `prompt.md` (or `task.toml` with a prompt), `files/` for the model's sandbox, `check.py` or
`check.sh`, and `check/` with files that come into the sandbox for the check alone. Instances of SWE-bench and folders
of Terminal-Bench and Harbor are known by their own fields and files (`formats/`).
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.core.errors import BadInput
from angelia.service.batches.formats.harbor_task import harbor_row, is_harbor_task
from angelia.service.batches.formats.swe_instance import is_swe_instance, swe_row

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PROMPT = "prompt.md"
_TOML = "task.toml"


class TaskCaps(Struct, frozen=True, forbid_unknown_fields=True):
    """Caps of a task's turn, 0 for those of the settings: model calls, US dollars, seconds."""

    max_steps: int = 0
    max_cost: float = 0.0
    max_seconds: int = 0


class Task(TaskCaps, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One task. `files` are put into the sandbox before the model is asked, by their paths there; `check_files` only
    before the check. `texts` are small files that are written out here. `pictures` and `attachments` go with the
    prompt. `setup` is a command that runs in the sandbox once the files are there.

    `workspace = "image"` is for tasks that are a container as a whole: they are done in the folder of its image, as its
    user. `data` is told to the check, and to nobody else. `sandbox` and `model` are empty for those of the batch.
    `check` is a Python file or a command line, empty for none; it has `check_seconds`. Paths are relative to where the
    task was read.
    """

    id: str
    prompt: str
    files: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    pictures: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    setup: str = ""
    sandbox: str = ""
    workspace: Literal["", "image"] = ""
    model: str = ""
    check: str = ""
    check_files: Mapping[str, str] = {}
    check_seconds: float = 300.0
    data: dict[str, Any] = {}
    folder: str = ""

    def path(self, name: str) -> Path:
        """A file that the task names, on this machine."""
        return Path(self.folder, name).expanduser()


def read_tasks(source: Path, check: str = "", left_out: list[BadInput] | None = None) -> tuple[Task, ...]:
    """All tasks of a file or folder, in order; `check` is for those that have none of their own. `left_out`
    takes each task of a benchmark that asks for what is not done here; without it, one such task refuses all.

    Raises:
        BadInput: it cannot be read, a task is not as it should be, or two have one id; says which.
    """
    try:
        found = tuple(_in_folder(source, left_out) if source.is_dir() else _in_file(source, left_out))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or error if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"{source} cannot be read: {why}.", then="Name a .jsonl or .toml file, or a folder.") from error
    if not found:
        raise BadInput(f"There is no task in {source}.", then='A line of JSON is one: {"id": …, "prompt": …}.')
    seen: set[str] = set()
    for task in found:
        _demand(task, source)
        if task.id in seen:
            raise BadInput(f"Two tasks of {source} are called {task.id!r}.", then="Give each an id of its own.")
        seen.add(task.id)
    whole = whole_check(check)
    return tuple(task if task.check else replace(task, check=whole) for task in found)


def digest_of(tasks: Sequence[Task]) -> str:
    """Names these very tasks, with the words of their prompts and checks; bytes of files are not looked at."""
    told = [replace(task, folder="") for task in tasks]
    return hashlib.sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()


def _in_file(source: Path, left_out: list[BadInput] | None) -> Iterator[Task]:
    text = source.read_text("utf-8")
    if source.suffix == ".toml":
        yield from _in_toml(source, text)
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                row = msgspec.json.decode(line)
            except msgspec.DecodeError as error:
                raise BadInput(
                    f"Line {number} of {source} is no JSON: {error}.",
                    then='Each line is a task: {"id": "sum", "prompt": "Add up …"}. `angelia docs batches` says more.',
                ) from error
            where = f"Line {number} of {source}"
            try:
                told = swe_row(row, where, source.parent) if is_swe_instance(row) else row
            except BadInput as why:
                if left_out is None:
                    raise
                left_out.append(why)
                continue
            yield _task(told, where, source.parent, f"{number:04}")


def _in_toml(source: Path, text: str) -> Iterator[Task]:
    table = _toml(text, source)
    known = {"task", "defaults"}
    if unknown := sorted(table.keys() - known):
        raise BadInput(f"{source} has {unknown[0]!r}, which nobody reads.", then="Tasks are [[task]], and [defaults].")
    defaults = table.get("defaults", {})
    for number, row in enumerate(table.get("task", []), 1):
        yield _task({**defaults, **row}, f"Task {number} of {source}", source.parent, f"{number:04}")


def _in_folder(source: Path, left_out: list[BadInput] | None) -> Iterator[Task]:
    inside = sorted(one for one in source.iterdir() if one.is_dir() and not one.name.startswith("."))
    for folder in [source] if is_harbor_task(source) else inside:
        described, prompt = folder / _TOML, folder / _PROMPT
        row: dict[str, Any] = {}
        if described.exists():
            row = _toml(described.read_text("utf-8"), described)
        if is_harbor_task(folder):
            try:
                row = harbor_row(folder, row)
            except BadInput as why:
                if left_out is None:
                    raise
                left_out.append(why)
                continue
            yield _task(row, f"The task in {folder}", folder, folder.resolve().name)
            continue
        if prompt.exists():
            row.setdefault("prompt", prompt.read_text("utf-8").strip())
        for name, part in (("files", "files"), ("check_files", "check")):
            if (folder / part).is_dir():
                row.setdefault(name, {path: f"{part}/{path}" for path in _all_in(folder / part)})
        own = next((one for one in ("check.py", "check.sh") if (folder / one).is_file()), "")
        if own and "check" not in row:
            row["check"] = own
            if own == "check.sh":
                row["check"], row["check_files"] = "sh check.sh", {**row.get("check_files", {}), "check.sh": own}
        if row:
            yield _task(row, f"The task in {folder}", folder, folder.name)


def _all_in(folder: Path) -> list[str]:
    """The files of a folder, by their paths in it; what a link leads to is taken where it is a file."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _toml(text: str, source: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{source} is no TOML: {error}.") from error


def _task(row: object, where: str, folder: Path, usual: str) -> Task:
    if not isinstance(row, dict):
        raise BadInput(f"{where} is no task.", then='A task is {"id": "sum", "prompt": "Add up …"}.')
    told: dict[str, Any] = {"id": usual, **row, "folder": str(folder.absolute())}
    for name in ("files", "check_files"):
        if isinstance(told.get(name), list):
            told[name] = _by_place([str(one) for one in told[name]], folder, where)
    try:
        task = msgspec.convert(told, Task, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where} is not as a task should be: {error}.") from error
    own = str(task.path(task.check))
    return replace(task, check=own) if is_python(task.check) or (is_python(own) and Path(own).is_file()) else task


def _by_place(names: Sequence[str], folder: Path, where: str) -> dict[str, str]:
    """Files by where they go: under their own names, and those of a folder beneath its name."""
    found: dict[str, str] = {}
    for name in names:
        path = Path(folder, name).expanduser()
        inside = [f"/{one}" for one in _all_in(path)] if path.is_dir() else [""]
        for rest in inside:
            target = f"{path.name}{rest}"
            if target in found:
                raise BadInput(f"{where} puts two files at {target}.", then="Name them by their places: files = {…}.")
            found[target] = f"{name.rstrip('/')}{rest}"
    return found


def _demand(task: Task, source: Path) -> None:
    """A task must be one that can be begun.

    Raises:
        BadInput: it is not; says why.
    """
    where = f"The task {task.id!r} of {source}"
    if not _NAME.fullmatch(task.id):
        raise BadInput(f"{where} has no usable id.", then="Letters, digits, dot, - and _, at most 100 of them.")
    if not task.prompt.strip():
        raise BadInput(f"{where} has no prompt.")
    if task.check_seconds <= 0:
        raise BadInput(f"{where} gives its check no time: check_seconds is {task.check_seconds:g}.")
    named = (*task.files.values(), *task.check_files.values(), *task.pictures, *task.attachments)
    check = (task.check,) if is_python(task.check) else ()
    for name in (*named, *check):
        if not task.path(name).is_file():
            raise BadInput(f"{where} names {name}, and there is no such file at {task.path(name)}.")
    for place in (*task.files, *task.texts, *task.check_files):
        if place.startswith("/") or ".." in Path(place).parts:
            raise BadInput(f"{where} would put a file at {place}.", then="Places are relative to the sandbox's folder.")


def whole_check(check: str) -> str:
    """A check that somebody names where they are; a Python file gets its whole path.

    Raises:
        BadInput: there is no such file.
    """
    if not is_python(check):
        return check
    file = Path(check).expanduser().absolute()
    if not file.is_file():
        raise BadInput(f"There is no file {file} to check by.", then="Nothing was asked.")
    return str(file)


def is_python(check: str) -> bool:
    """Whether a check is a Python file; else it is a command.

    >>> is_python("check.py"), is_python("python check.py"), is_python("")
    (True, False, False)
    """
    return check.endswith(".py") and (len(check.split()) == 1 or Path(check).is_file())
