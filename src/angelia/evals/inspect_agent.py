"""An agent for Inspect AI (https://inspect.aisi.org.uk): `inspect eval tasks.py --solver angelia/agent --model none`.

The model that answers is ours to choose (`-S model=local:qwen2.5-coder-1.5b`), so Inspect needs none of its own.
"""

import asyncio
import base64
import mimetypes
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

from anyio import CancelScope
from inspect_ai.agent import Agent as InspectAgent
from inspect_ai.agent import AgentState, agent
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentAudio,
    ContentDocument,
    ContentImage,
    ContentText,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall as InspectCall
from inspect_ai.tool import ToolCallError
from inspect_ai.util import SandboxEnvironment, sandbox

from angelia.cancellation import cancel_and_wait
from angelia.core.content import CallStatus, Content, Text
from angelia.core.errors import BadInput
from angelia.evals.sandbox_files import bring, take_back
from angelia.faces.python.agent import Agent
from angelia.faces.python.answers import Answer, NotAnswered
from angelia.faces.python.conversation import Conversation
from angelia.held_folder import HeldFolder
from angelia.service.trajectories.trajectory import StepSource, TrajectoryStep, call_arguments


@agent(name="agent")
def angelia(model: str = "", home: str = "", settings: dict[str, Any] | None = None) -> InspectAgent:
    """Angelia as an agent of Inspect AI.

    `model`, `home` and `settings` are those of `angelia.Agent`; the conversations stay in the home. Where the task has
    a sandbox, its working folder is copied to a folder of this machine, worked on there as anything else is, and
    copied back before the task is scored. A turn that ends otherwise than with an answer is an output with an `error`,
    and scored as it stands; so is what was done by the end of a limit of Inspect's, and its messages stand in the log.
    """

    async def work(state: AgentState) -> AgentState:
        with HeldFolder() as folder:
            workspace, given = folder / "workspace", folder / "given"
            workspace.mkdir()
            given.mkdir()
            question, files = _asked(state.messages, given)
            box = _own_sandbox()
            if box:
                await bring(box, workspace)
            ours = Agent(model=model, home=home, settings=settings, workspace=workspace)
            async with ours, ours.conversation() as talk:
                notes: list[Any] = []
                try:
                    came = await _came(talk, question, files)
                    notes += came.notes
                finally:
                    transcript().info({"conversation": talk.id, "notes": notes}, source="angelia")
                    state.messages += [message for step in talk.steps for message in _messages(step)]
                    if box:
                        await take_back(box, workspace)
        state.output = _output(came)
        return state

    async def execute(state: AgentState) -> AgentState:
        return await _to_its_end(work(state))

    return execute


async def _to_its_end(work: Coroutine[Any, Any, AgentState]) -> AgentState:
    """What it comes to. A limit of Inspect's cancels whatever is awaited within it, again and again, so that nothing
    could be brought back there: the work is a task of its own, which is cancelled once and waited for.
    """
    working = asyncio.create_task(work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        with CancelScope(shield=True):
            await cancel_and_wait(working)
        raise


async def _came(talk: Conversation, question: str, files: Sequence[Path]) -> Answer | NotAnswered:
    try:
        return await talk.ask(question, files=files)
    except NotAnswered as error:
        return error


def _own_sandbox() -> SandboxEnvironment | None:
    """The sandbox of the task that runs; None where it has none."""
    try:
        return sandbox()
    except ProcessLookupError:
        return None


def _asked(messages: Sequence[ChatMessage], folder: Path) -> tuple[str, list[Path]]:
    """What is asked, with what the task says to every model before it, and the files that came along.

    Raises:
        BadInput: something came along that is neither a file of this machine nor in the message itself.
    """
    said: list[str] = []
    files: list[Path] = []
    for message in messages:
        if isinstance(message, ChatMessageSystem | ChatMessageUser):
            said.append(message.text)
        if isinstance(message, ChatMessageUser) and not isinstance(message.content, str):
            named = [one for part in message.content if (one := _attached(part))]
            files += [_as_file(source, folder / f"{len(files) + at}") for at, source in enumerate(named)]
    return "\n\n".join(filter(None, said)), files


def _attached(part: object) -> str:
    if isinstance(part, ContentImage):
        return part.image
    if isinstance(part, ContentAudio):
        return part.audio
    if isinstance(part, ContentDocument):
        return part.document
    if isinstance(part, ContentText):
        return ""
    raise BadInput(f"A {type(part).__name__} in the task's input cannot be handed on.")


def _as_file(source: str, beside: Path) -> Path:
    """A path, or a data URL whose bytes are put in a file that is named `beside`, with the ending of its kind."""
    head, comma, data = source.partition(",")
    if source.startswith("data:") and comma and head.endswith(";base64"):
        kind = head.removeprefix("data:").partition(";")[0]
        path = beside.with_suffix(mimetypes.guess_extension(kind) or ".bin")
        path.write_bytes(base64.b64decode(data))
        return path
    if Path(source).is_file():
        return Path(source)
    raise BadInput(f"{source[:200]} came along in the task's input, and is no file of this machine.")


def _messages(step: TrajectoryStep) -> Iterator[ChatMessage]:
    """What a step is in Inspect's log; the task's own question stands there already."""
    if step.source is StepSource.SYSTEM:
        yield ChatMessageUser(content=step.text)
    if step.source is not StepSource.MODEL:
        return
    calls = [InspectCall(id=call.id, function=call.name, arguments=call_arguments(call)) for call in step.calls]
    yield ChatMessageAssistant(content=step.text, tool_calls=calls or None, model=step.model)
    for call, came in zip(step.calls, step.results, strict=True):
        words, failed = _words(came.parts), came.status is not CallStatus.OK
        error = ToolCallError("unknown", f"{came.status}: {words}") if failed else None
        yield ChatMessageTool(content=words, tool_call_id=call.id, function=call.name, error=error)


def _words(parts: Sequence[Content]) -> str:
    return "\n".join(part.text if isinstance(part, Text) else f"[{part.media}: {part.name}]" for part in parts)


def _output(came: Answer | NotAnswered) -> ModelOutput:
    spent = came.usage
    usage = ModelUsage(
        input_tokens=spent.input - spent.cache_read - spent.cache_write,
        input_tokens_cache_read=spent.cache_read,
        input_tokens_cache_write=spent.cache_write,
        output_tokens=spent.output,
        reasoning_tokens=spent.thinking,
        total_tokens=spent.input + spent.output,
        total_cost=came.cost,
    )
    answered = isinstance(came, Answer)
    words = came.text if isinstance(came, Answer) else str(came)
    message = ChatMessageAssistant(content=words, model=came.model)
    choice = ChatCompletionChoice(message=message, stop_reason="stop" if answered else "unknown")
    return ModelOutput(model=came.model, choices=[choice], usage=usage, error=None if answered else words)
