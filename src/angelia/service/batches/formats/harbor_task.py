"""A task folder of Harbor (`instruction.md`, `task.toml`), or of Terminal-Bench before (`task.yaml`), as a row of ours.

Its environment is an image, named or built of its Dockerfile; its tests come into the container once the model is
done (`harbor_check`). Sources: harborframework.com/docs/tasks, and "Differences from Terminal-Bench" there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from angelia.core.errors import BadInput
from angelia.skills.front_matter import BadFrontMatter, read_front_matter

_INSTRUCTION, _OLD = "instruction.md", "task.yaml"
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml")
_CHECK = str(Path(__file__).with_name("harbor_check.py"))
_TEST_SECONDS = 600.0
"""What tests have where the task does not say (harbor, `VerifierConfig.timeout_sec`)."""
_LEAVE_OUT = "Leave it out, or let --leave-out do so."
_UNMET = {
    "steps": "has several steps",
    "environment.env": "gives its container variables",
    "environment.mcp_servers": "brings MCP servers",
    "environment.skills_dir": "brings skills",
    "environment.workdir": "works in another folder than its image",
    "environment.healthcheck": "waits until its container is healthy",
    "environment.gpus": "wants a GPU",
    "environment.tpu": "wants a TPU",
    "agent.user": "is done by another user than its image's",
    "verifier.user": "is judged by another user than its image's",
    "verifier.environment": "has its tests judge in a container of their own",
    "verifier.collect": "collects files for its tests",
}
"""What a task may ask of a harness that is not done here; such a task is refused, since it would be another one."""


def is_harbor_task(folder: Path) -> bool:
    """Whether a folder is such a task."""
    return (folder / _INSTRUCTION).is_file() or (folder / _OLD).is_file()


def harbor_row(folder: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """The task in a folder; `table` is its `task.toml`, empty if it has none.

    Raises:
        BadInput: it asks for something that is not done here, or is not whole; says what.
    """
    if (folder / _INSTRUCTION).is_file():
        return _of_harbor(folder, table)
    return _of_old(folder)


def _of_harbor(folder: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    for path, what in _UNMET.items():
        if _at(table, path):
            raise BadInput(f"The task in {folder} {what} ({path}), which is not done here.", then=_LEAVE_OUT)
    if _at(table, "verifier.environment_mode") == "separate":
        raise BadInput(f"The task in {folder} {_UNMET['verifier.environment']}.", then=_LEAVE_OUT)
    if str(_at(table, "environment.os") or "linux") != "linux":
        raise BadInput(f"The task in {folder} wants another system than Linux.", then=_LEAVE_OUT)
    variables = _at(table, "verifier.env") or {}
    if wanted := sorted(name for name, value in variables.items() if "${" in str(value)):
        raise BadInput(
            f"The tests of the task in {folder} want {wanted[0]} of this machine, which they are not given.",
            then="Write its value into task.toml, or leave the task out.",
        )
    seconds = _at(table, "agent.timeout_sec")
    return {
        "prompt": (folder / _INSTRUCTION).read_text("utf-8").strip(),
        "sandbox": f"docker:{_at(table, 'environment.docker_image') or _dockerfile(folder, folder / 'environment')}",
        "max_seconds": int(seconds) if seconds else 0,
        **_checked(_at(table, "verifier.timeout_sec")),
        "data": {"tests": "tests", "script": _script(folder, "tests/test.sh"), "env": variables, "says": "reward"},
    }


def _of_old(folder: Path) -> dict[str, Any]:
    text = (folder / _OLD).read_text("utf-8").removeprefix("---\n").strip()
    try:
        fields = read_front_matter(f"---\n{text}\n---\n").fields
    except BadFrontMatter as error:
        raise BadInput(f"{folder / _OLD} cannot be read: {error}.") from error
    if fields.get("parser_name", "pytest") != "pytest":
        raise BadInput(
            f"What the tests of the task in {folder} say is read by {fields['parser_name']!r}, which is not done here.",
            then="Leave it out; those of pytest are read.",
        )
    script = _script(folder, "run-tests.sh")
    return {
        "prompt": str(fields.get("instruction", "")).strip(),
        "sandbox": f"docker:{_dockerfile(folder, folder)}",
        "max_seconds": int(float(str(fields.get("max_agent_timeout_sec", 0)))),
        **_checked(fields.get("max_test_timeout_sec")),
        "data": {"tests": "tests", "script": script, "env": {"TEST_DIR": "/tests"}, "says": "pytest"},
    }


def _checked(seconds: object) -> dict[str, Any]:
    return {"workspace": "image", "check": _CHECK, "check_seconds": float(str(seconds or _TEST_SECONDS))}


def _dockerfile(task: Path, folder: Path) -> str:
    """The folder of its Dockerfile, which is built; with further containers beside it would be half of the task."""
    composed = next((name for name in _COMPOSE if (folder / name).is_file()), "")
    if composed and (task / _INSTRUCTION).is_file():
        raise BadInput(f"The task in {task} wants several containers ({composed}).", then=_LEAVE_OUT)
    if not (folder / "Dockerfile").is_file():
        raise BadInput(f"The task in {task} has no image: there is no {folder / 'Dockerfile'}.")
    return str(folder.absolute())


def _script(folder: Path, name: str) -> str:
    if not (folder / name).is_file():
        raise BadInput(f"The task in {folder} has no tests: there is no {name}.")
    return name


def _at(table: Mapping[str, Any], path: str) -> Any:
    found: Any = table
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
