"""A request as a plain chat for a very small model: short instructions, and words only."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from angelia.context.request import MessagePart, ModelRequest, OpenMedia, Result, Role
from angelia.core.content import CallStatus, Text
from angelia.models.wires.fragments import no_way, opened

_MOST_SYSTEM = 600
"""Tokens of instructions that are passed on: the model reads some 200 a second, and heeds the first few.

A prompt may have 1,500 besides the conversation; the examples of tool calls, the other prompt, take some 450."""
_LEFT_OUT = "(More instructions are left out.)"


_WITH_RESULTS = "Text:\n{results}\n\nQuestion: {asked}\nAnswer from the text in one sentence."
"""How results are shown. SmolLM2 answers four of five simple questions so; after results in a message of their own,
as larger models take them, it repeats the call or makes up text."""


_MAKERS = re.compile(
    r"(?<![A-Za-z])(?:OpenAI|ChatGPT|GPT-?\d|Anthropic|Claude|Google|Gemini|DeepMind|Microsoft|Meta AI|Llama|Alibaba"
    r"|Qwen|Mistral|DeepSeek|Hugging ?Face|xAI|Grok)(?![A-Za-z])|阿里|通义|百度|腾讯|谷歌|微软",
    re.IGNORECASE,
)
"""Who makes models, and what those are called."""
_ROLES = ("user", "assistant")
_MOST_NAMING = 240
"""Characters of an answer to who one is; what is longer is about something."""


def introduction(model: str) -> list[dict[str, str]]:
    """Who speaks, as exchanges that went before: small weights name their maker whatever their instructions say, and
    repeat what they have said.
    """
    name = Path(model).name.removesuffix(".gguf")
    said = (
        ("Who are you?", "I am Angelia, an agent on your own machine."),
        ("Who made you?", f"People who write free software. A small model speaks for me, {name}; it runs here."),
    )
    return [{"role": role, "content": text} for exchange in said for role, text in zip(_ROLES, exchange, strict=True)]


def named_wrongly(answer: str, model: str) -> str:
    """A note that says who speaks, where a short answer names somebody who may have made another model."""
    name = Path(model).name.removesuffix(".gguf")
    if len(answer) > _MOST_NAMING or not _MAKERS.search(answer.replace(name, "")):
        return ""
    return f"(I am Angelia; the model that speaks is {name}, on this machine.)"


async def chat_of(
    request: ModelRequest, open_media: OpenMedia, before: Sequence[dict[str, str]] = ()
) -> list[dict[str, str]]:
    """The chat, in the roles that every template knows, taking turns; what tools found joins the question. `before` are
    exchanges that stand behind the instructions.

    Raises:
        ModelError: MEDIA_REFUSED; something is to be shown that cannot be put in words.
    """
    chat = _Chat(request.system, before)
    for message in request.messages:
        if message.role is Role.USER:
            chat.asked += await _texts(message.parts, open_media)
        elif message.role is Role.TOOL:
            chat.results += [await _result(part, open_media) for part in message.parts if isinstance(part, Result)]
        else:
            chat.answered("\n\n".join(part.text for part in message.parts if isinstance(part, Text)))
    chat.ask()
    return chat.messages


def chat_beginning(system: str, before: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """What stands at the beginning of the chat, whatever is said in it."""
    return _Chat(system, before).messages


class _Chat:
    """What was asked and found since the last answer is held back until it is clear how to put it."""

    def __init__(self, system: str, before: Sequence[dict[str, str]]) -> None:
        self.messages = [{"role": "system", "content": fitted(system)}] if system else []
        self.messages += before
        self.asked: list[str] = []
        self.results: list[str] = []
        self._question = ""

    def ask(self) -> None:
        self._question = "\n\n".join(self.asked) or self._question
        if self.results:
            self._add("user", _WITH_RESULTS.format(results="\n\n".join(self.results), asked=self._question))
        elif self.asked:
            self._add("user", self._question)
        self.asked, self.results = [], []

    def answered(self, text: str) -> None:
        if text.strip():  # a reply of calls alone is told by what they found
            self.ask()
            self._add("assistant", text)

    def _add(self, role: str, content: str) -> None:
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += "\n\n" + content
        else:
            self.messages.append({"role": role, "content": content})


async def _result(result: Result, open_media: OpenMedia) -> str:
    said = "\n".join(await _texts(result.parts, open_media)) or "(nothing)"
    return said if result.status is CallStatus.OK else f"{result.name} failed: {said}"


async def _texts(parts: Iterable[MessagePart], open_media: OpenMedia) -> list[str]:
    texts = []
    for piece in await opened(parts, open_media):
        if not isinstance(piece, str):
            raise no_way("local", piece)
        texts.append(piece)
    return texts


def fitted(system: str, most: int = _MOST_SYSTEM) -> str:
    """As many whole paragraphs as fit, or the beginning of the first; says that something is left out."""
    if most_tokens(system) <= most:
        return system
    kept: list[str] = []
    budget = most - most_tokens(_LEFT_OUT)
    for paragraph in system.split("\n\n"):
        budget -= most_tokens(paragraph) + 2
        if budget < 0:
            break
        kept.append(paragraph)
    if not kept:
        kept.append(_beginning(system, most - most_tokens(_LEFT_OUT) - 2))
    return "\n\n".join([*kept, _LEFT_OUT])


def most_tokens(text: str) -> int:
    """How many tokens a text can hardly exceed: three letters or spaces to one, any other byte one of its own.

    >>> most_tokens("Be brief."), most_tokens("42"), most_tokens("你好")
    (4, 2, 6)
    """
    letters = sum(char.isascii() and (char.isalpha() or char == " ") for char in text)
    return -(-letters // 3) + len(text.encode()) - letters


def _beginning(text: str, most: int) -> str:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if most_tokens(text[:middle]) <= most else (low, middle - 1)
    return text[:low]
