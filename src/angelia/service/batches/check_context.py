"""What a check in Python is given: the sandbox in which the model worked, its answer, what it sent, and the log."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from angelia.service.batches.check_frames import CheckQuestions


class MissingFile(FileNotFoundError):
    """There is no such file in the sandbox. A check that does not catch it has failed, with this as its reason."""


class SandboxLost(RuntimeError):
    """The sandbox cannot be used any more, or refused."""


class CommandResult(Struct, frozen=True):
    """What a command came to: its exit code (-1 where a signal ended it), and what it wrote, the last 1 MB of it."""

    status: int
    output: str
    timed_out: bool = False


class SentDelivery(Struct, frozen=True):
    """A file that the model sent; `number` is what `CheckContext.save` takes."""

    number: int
    name: str
    mime: str
    size: int


class CheckContext:
    """A finished task, as its check sees it. Paths in the sandbox are relative to the folder in which the model worked.

        async def check(context):
            ran = await context.run("python -m pytest -q")
            return ran.status == 0, ran.output[-200:]

    `answer` are the words that closed the turn, `ending` is how it ended (`Answered`, `StepLimit`, …), `deliveries`
    the files that were sent. `data` is what the task says to its check, `folder` where the task lies on this machine,
    and `seconds` what a check has in all. What is asked for at once is done one after the other; what is not waited for
    any more (`asyncio.wait_for`) is ended. Where an argument cannot be meant, a `ValueError` says which.
    """

    def __init__(self, told: Mapping[str, Any], questions: CheckQuestions) -> None:
        self.task: str = told["task"]
        self.model: str = told["model"]
        self.answer: str = told["answer"]
        self.ending: str = told["ending"]
        self.data: Mapping[str, Any] = told["data"]
        self.folder = Path(told["folder"])
        self.seconds: float = told["seconds"]
        self.deliveries = tuple(SentDelivery(**one) for one in told["deliveries"])
        self._questions = questions

    async def run(self, command: str | Sequence[str], *, seconds: float = 60.0) -> CommandResult:
        """Run a command line, or a program with its arguments, confined as the model's commands are.

        Raises:
            SandboxLost: it could not be started.
        """
        words = {"shell": command} if isinstance(command, str) else {"argv": list(command)}
        return CommandResult(**await self._ask("run", seconds=seconds, **words))

    async def read(self, path: str) -> str:
        """A file as text; what is not UTF-8 is replaced.

        Raises:
            MissingFile, SandboxLost: it cannot be had.
        """
        return (await self.read_bytes(path)).decode(errors="replace")

    async def read_bytes(self, path: str) -> bytes:
        """A file of at most 64 MB; `get` takes larger ones.

        Raises:
            MissingFile, SandboxLost: it cannot be had.
        """
        data: bytes = await self._ask("read", path=path)
        return data

    async def write(self, path: str, content: str | bytes) -> None:
        """Write a file, whole or not at all.

        Raises:
            SandboxLost: it cannot be written.
        """
        await self._ask("write", path=path, data=content.encode() if isinstance(content, str) else content)

    async def get(self, path: str, target: str | Path) -> Path:
        """Copy a file out of the sandbox to this machine.

        Raises:
            MissingFile, SandboxLost: it cannot be had.
        """
        await self._ask("get", path=path, target=str(Path(target).absolute()))
        return Path(target)

    async def put(self, source: str | Path, path: str) -> None:
        """Copy a file of this machine into the sandbox.

        Raises:
            SandboxLost: it cannot be put.
        """
        await self._ask("put", source=str(Path(source).absolute()), path=path)

    async def list(self, path: str = ".") -> Sequence[str]:
        """The names in a folder, sorted; those of folders end with a slash.

        Raises:
            MissingFile, SandboxLost: there is none.
        """
        names: Sequence[str] = await self._ask("list", path=path)
        return names

    async def save(self, sent: SentDelivery, target: str | Path) -> Path:
        """Copy a file that the model sent to this machine.

        Raises:
            SandboxLost: its bytes are gone.
        """
        await self._ask("save", number=sent.number, target=str(Path(target).absolute()))
        return Path(target)

    async def log(self) -> Sequence[Mapping[str, Any]]:
        """Every entry of the conversation, as `angelia export --format jsonl` writes them."""
        entries: Sequence[Mapping[str, Any]] = await self._ask("log")
        return entries

    async def _ask(self, what: str, **given: object) -> Any:
        reply = await self._questions.ask({"ask": what, **given})
        if "value" in reply:
            return reply["value"]
        if "wrong" in reply:
            raise ValueError(f"{what}: {reply['wrong']}")
        raise (MissingFile if reply["missing"] else SandboxLost)(reply["why"])
