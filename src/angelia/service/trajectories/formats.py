"""Trajectories as others read them: OpenAI's chat messages, ShareGPT with Hermes' tags, and ATIF.

    openai     https://platform.openai.com/docs/guides/supervised-fine-tuning: `messages`, `tools`; `metadata` is ours
    sharegpt   `conversations` of `from` and `value`; <tool_call> and <tool_response> as Hermes has them
    atif       the Agent Trajectory Interchange Format of Harbor, v1.7: one document each

What a format has no place for is said in words where it stood; nothing is left out.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from angelia.context.request import ToolSpec
from angelia.core.content import Content, Media, MediaKind, Text, ToolCall
from angelia.core.version import PACKAGE_VERSION
from angelia.service.trajectories.trajectory import (
    CallResult,
    StepSource,
    Trajectory,
    TrajectoryStep,
    call_arguments,
)

ATIF_VERSION = "ATIF-v1.7"

MediaUrl = Callable[[Media], str]
"""Where the bytes of a medium are: a URL, of data or of a file."""

_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""What ATIF takes as a picture, and OpenAI too."""

_ROLES = {StepSource.USER: "human", StepSource.MODEL: "gpt", StepSource.SYSTEM: "system"}
_SOURCES = {StepSource.USER: "user", StepSource.MODEL: "agent", StepSource.SYSTEM: "system"}


def as_openai(trajectory: Trajectory, url: MediaUrl) -> dict[str, Any]:
    """One example of OpenAI's chat format."""
    messages: list[dict[str, Any]] = []
    if trajectory.system:
        messages.append({"role": "system", "content": trajectory.system})
    reasoning: dict[str, str] = {}
    for step in trajectory.steps:
        if step.thinking:
            reasoning[str(len(messages))] = step.thinking
        messages += _openai_messages(step, url)
    metadata = {"conversation": trajectory.conversation, **trajectory.about}
    if reasoning:  # a message has no place for it: by the number of its message, from 0
        metadata["reasoning"] = reasoning
    told = {"messages": messages, "metadata": metadata}
    return {**told, "tools": [_function(tool) for tool in trajectory.tools]} if trajectory.tools else told


def _openai_messages(step: TrajectoryStep, url: MediaUrl) -> list[dict[str, Any]]:
    if step.source is StepSource.SYSTEM:
        return [{"role": "system", "content": step.text}]
    if step.source is StepSource.USER:
        return [{"role": "user", "content": _openai_parts(step.parts, url)}]
    reply: dict[str, Any] = {"role": "assistant", "content": step.text or None}
    if step.calls:
        reply["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in step.calls
        ]
    elif not step.text:
        reply["content"] = ""
    results = zip(step.calls, step.results, strict=True)
    return [reply, *({"role": "tool", "tool_call_id": call.id, "content": _words(came)} for call, came in results)]


def _openai_parts(parts: Sequence[Content], url: MediaUrl) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, Text))
    told: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Media) and part.blob.mime in _PICTURES:
            told.append({"type": "image_url", "image_url": {"url": url(part)}})
        else:
            told.append({"type": "text", "text": part.text if isinstance(part, Text) else _named(part, url)})
    return told


def as_sharegpt(trajectory: Trajectory, url: MediaUrl) -> dict[str, Any]:
    """One conversation of the ShareGPT kind."""
    told: list[dict[str, str]] = []
    if trajectory.system:
        told.append({"from": "system", "value": trajectory.system})
    for step in trajectory.steps:
        told.append({"from": _ROLES[step.source], "value": _sharegpt_words(step, url)})
        if step.results:
            told.append({"from": "tool", "value": "\n".join(map(_response, step.calls, step.results))})
    tools = json.dumps([_function(tool) for tool in trajectory.tools], ensure_ascii=False)
    return {"id": trajectory.conversation, "conversations": told, "tools": tools, "metadata": trajectory.about}


def _sharegpt_words(step: TrajectoryStep, url: MediaUrl) -> str:
    words = [f"<think>\n{step.thinking}\n</think>"] if step.thinking else []
    words += [part.text if isinstance(part, Text) else _named(part, url) for part in step.parts]
    for call in step.calls:
        wanted = {"name": call.name, "arguments": call_arguments(call)}
        words.append(f"<tool_call>\n{json.dumps(wanted, ensure_ascii=False)}\n</tool_call>")
    return "\n".join(words)


def _response(call: ToolCall, came: CallResult) -> str:
    said = json.dumps({"name": call.name, "content": _words(came)}, ensure_ascii=False)
    return f"<tool_response>\n{said}\n</tool_response>"


def as_atif(trajectory: Trajectory, url: MediaUrl) -> dict[str, Any]:
    """One ATIF document."""
    steps = list(trajectory.steps)
    told = [_atif_step(number, step, url) for number, step in enumerate(steps, 1 + bool(trajectory.system))]
    if trajectory.system:
        told.insert(0, {"step_id": 1, "source": "system", "message": trajectory.system})
    agent: dict[str, Any] = {"name": "angelia", "version": PACKAGE_VERSION}
    if trajectory.model:
        agent["model_name"] = trajectory.model
    if trajectory.tools:
        agent["tool_definitions"] = [_function(tool) for tool in trajectory.tools]
    return {
        "schema_version": ATIF_VERSION,
        "session_id": trajectory.conversation,
        "agent": agent,
        "steps": told,
        "final_metrics": _final(steps, len(told)),
        "extra": trajectory.about,
    }


def _atif_step(number: int, step: TrajectoryStep, url: MediaUrl) -> dict[str, Any]:
    at = datetime.fromtimestamp(step.at / 1000, UTC).isoformat().replace("+00:00", "Z")
    told: dict[str, Any] = {"step_id": number, "timestamp": at, "source": _SOURCES[step.source]}
    told["message"] = _atif_content(step.parts, url)
    if step.source is not StepSource.MODEL:
        return told
    told["model_name"] = step.model
    if step.thinking:
        told["reasoning_content"] = step.thinking
    if step.calls:
        told["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": call_arguments(call)}
            for call in step.calls
        ]
        told["observation"] = {
            "results": [
                {"source_call_id": call.id, "content": _atif_content(came.parts, url), "extra": {"status": came.status}}
                for call, came in zip(step.calls, step.results, strict=True)
            ]
        }
    usage = step.usage
    told["metrics"] = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        **({"cost_usd": step.cost / 1e6} if step.cost >= 0 else {}),
    }
    return told


def _atif_content(parts: Sequence[Content], url: MediaUrl) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, Media) and part.blob.mime in _PICTURES for part in parts):
        return "\n".join(part.text if isinstance(part, Text) else _named(part, url) for part in parts)
    told: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Media) and part.blob.mime in _PICTURES:
            told.append({"type": "image", "source": {"media_type": part.blob.mime, "path": url(part)}})
        else:
            told.append({"type": "text", "text": part.text if isinstance(part, Text) else _named(part, url)})
    return told


def _final(steps: Sequence[TrajectoryStep], count: int) -> dict[str, Any]:
    replies = [step for step in steps if step.source is StepSource.MODEL]
    known = [step.cost for step in replies if step.cost >= 0]
    return {
        "total_prompt_tokens": sum(step.usage.input for step in replies),
        "total_completion_tokens": sum(step.usage.output for step in replies),
        "total_cached_tokens": sum(step.usage.cache_read for step in replies),
        "total_steps": count,
        **({"total_cost_usd": sum(known) / 1e6} if len(known) == len(replies) else {}),
    }


def _function(tool: ToolSpec) -> dict[str, Any]:
    schema = msgspec.json.decode(bytes(tool.schema))
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": schema},
    }


def _words(came: CallResult) -> str:
    words = "\n".join(part.text if isinstance(part, Text) else _named(part, lambda _: "") for part in came.parts)
    return words if came.status == "ok" else f"[{came.status}] {words}"


def _named(media: Media, url: MediaUrl) -> str:
    """A medium in words, where the format has no place for it."""
    at = url(media)
    what = media.name or {MediaKind.IMAGE: "a picture"}.get(media.media, f"a {media.media}")
    return f"[{what}, {media.blob.mime}, {media.blob.size} bytes, sha256 {media.blob.sha256}]" + (
        f"({at})" if at else ""
    )
