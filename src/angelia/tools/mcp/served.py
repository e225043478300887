"""What a server serves besides tools: resources, which the model reads, and prompts, which a person chooses."""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from angelia.core.errors import BadInput
from angelia.core.text import clean, one_line

if TYPE_CHECKING:
    import mcp_types as types

MOST_LISTED = 1_000
"""Resources or prompts of one server that are kept in mind."""


class ServedResource(Struct, frozen=True):
    """Something that can be read; a `template` is read at an address made from it (RFC 6570). `size` is bytes, 0 for
    not said.
    """

    uri: str
    title: str
    about: str = ""
    mime: str = ""
    size: int = 0
    template: bool = False

    @property
    def line(self) -> str:
        """It in a line, for a model."""
        told = ", ".join(part for part in (self.mime, f"{self.size:,} bytes" if self.size else "") if part)
        about = f": {self.about}" if self.about and self.about != self.title else ""
        return f"{self.uri} ({'; '.join(part for part in (self.title, told) if part)}){about}"


class PromptArgument(Struct, frozen=True):
    """A word that a prompt takes."""

    name: str
    about: str
    required: bool


class ServedPrompt(Struct, frozen=True):
    """A prompt, by the name of its server."""

    server: str
    name: str
    about: str
    arguments: tuple[PromptArgument, ...] = ()

    @property
    def usage(self) -> str:
        """How it is typed.

        >>> ServedPrompt("garden", "plan", "", (PromptArgument("bed", "", True),)).usage
        '/garden:plan bed=…'
        """
        words = [f"{one.name}=…" if one.required else f"[{one.name}=…]" for one in self.arguments]
        return " ".join([f"/{self.server}:{self.name}", *words])

    def given(self, words: str) -> dict[str, str]:
        """The arguments in what was typed: `name=value`, or all of it for a prompt that takes one.

        >>> ServedPrompt("garden", "plan", "", (PromptArgument("bed", "", True),)).given("the north bed")
        {'bed': 'the north bed'}

        Raises:
            BadInput: some are missing, or it takes no such; says which it takes.
        """
        known = [one.name for one in self.arguments]
        if len(known) == 1 and words.strip() and not words.startswith(f"{known[0]}="):
            return {known[0]: words.strip()}
        try:
            pairs = [word.partition("=") for word in shlex.split(words)]
        except ValueError as error:
            raise BadInput(f"A quotation mark is missing ({error}).", then=self.usage) from None
        found = {name: value for name, equals, value in pairs if equals}
        unknown = [name for name, equals, _ in pairs if not equals or name not in known]
        missing = [one.name for one in self.arguments if one.required and not found.get(one.name)]
        if unknown or missing:
            wrong = f"It takes no {', '.join(unknown)}" if unknown else f"It wants {', '.join(missing)}"
            raise BadInput(f"{wrong}.", then=f"{self.usage}")
        return found


class Offers(Struct, frozen=True):
    """What one server lists besides its tools."""

    resources: tuple[ServedResource, ...] = ()
    prompts: tuple[ServedPrompt, ...] = ()


def offers_of(
    server: str,
    resources: Sequence["types.Resource"],
    templates: Sequence["types.ResourceTemplate"],
    prompts: Sequence["types.Prompt"],
) -> Offers:
    """The lists of a server as they are kept; names and words are cut to what a line holds."""
    read = [
        ServedResource(str(one.uri), _line(one.title or one.name), _line(one.description), _line(one.mime_type),
                       one.size or 0)
        for one in resources
    ]  # fmt: skip
    made = [
        ServedResource(one.uri_template, _line(one.title or one.name), _line(one.description), _line(one.mime_type),
                       template=True)
        for one in templates
    ]  # fmt: skip
    return Offers(tuple((*read, *made)[:MOST_LISTED]), tuple(_prompt(server, one) for one in prompts[:MOST_LISTED]))


def _prompt(server: str, listed: "types.Prompt") -> ServedPrompt:
    arguments = tuple(
        PromptArgument(_line(one.name), _line(one.description), bool(one.required)) for one in listed.arguments or ()
    )
    return ServedPrompt(server, listed.name, _line(listed.description or listed.title), arguments)


def _line(text: Any) -> str:
    return one_line(clean(str(text or "")), 200)


def quoted_prompt(prompt: ServedPrompt, arguments: Mapping[str, str], messages: Sequence["types.PromptMessage"]) -> str:
    """A prompt as the message of whoever chose it: their wish, and the server's words as a quotation."""
    texts = [
        f"{'(as your own words:) ' if one.role == 'assistant' else ''}{_words(one.content)}".strip() for one in messages
    ]
    quoted = "\n>\n".join("\n".join(f"> {line}".rstrip() for line in text.splitlines()) for text in texts if text)
    with_ = "".join(f" {name}={value!r}" for name, value in arguments.items())
    return (
        f"Do what this prompt of the MCP server {prompt.server} says, which I chose ({prompt.name}{with_}):\n\n{quoted}"
    )


def _words(content: Any) -> str:
    """The text of a part; of anything else that it is left out."""
    match content.type:
        case "text":
            return clean(content.text)
        case "resource" if hasattr(content.resource, "text"):
            return f"{content.resource.uri}:\n{clean(content.resource.text)}"
        case "resource_link":
            return f"{clean(content.title or content.name)}: {content.uri}"
        case kind:
            return f"[{one_line(str(kind), 40)}: left out, since a prompt brings text alone]"


def matching(words: str, resources: Sequence[ServedResource]) -> list[ServedResource]:
    """Those whose line holds each of the words, in the order of the list."""
    wanted = words.casefold().split()
    return [one for one in resources if all(word in one.line.casefold() for word in wanted)]
