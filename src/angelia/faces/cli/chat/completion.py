"""What Tab offers: commands and prompts with their arguments, and paths."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from angelia.core.visible import visible_line
from angelia.faces.cli.chat.choices import Choice, ChoicesOf, matching
from angelia.faces.words.mentions import Offered, begun_mention, mention_of, ranked
from angelia.faces.words.widths import cut

if TYPE_CHECKING:
    from angelia.tools.mcp.served import ServedPrompt

MOST_OFFERED = 50
"""Files that are offered behind an @; more letters find the others."""

_NUMBERED = 9
"""Choices that have a digit."""

_COLUMNS = 60
"""Of what is offered; a narrower window cuts it further."""


Prompts = Callable[[], Sequence["ServedPrompt"]]
"""Those that MCP servers offer now."""


class Completions(Completer):
    """`commands` are names (with slash) and help; `choices` are what a command takes; `of_paths` take a path.
    `offered` lists the files that can be named behind an @, `prompts` those of MCP servers, which are commands, too.
    """

    def __init__(
        self,
        commands: Mapping[str, str],
        choices: Mapping[str, ChoicesOf],
        of_paths: frozenset[str],
        offered: Offered,
        prompts: Prompts,
    ) -> None:
        self._commands = commands
        self._choices = choices
        self._of_paths = of_paths
        self._paths = PathCompleter(expanduser=True)
        self._offered = offered
        self._prompts = prompts

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """As `get_completions`; behind a command what it takes, and behind an @ the files of the workspace."""
        text = document.text_before_cursor
        command, space, rest = text.partition(" ")
        begun = None if text.startswith("/") else begun_mention(text)
        if space and command in self._choices:
            for one in self._chosen(rest, await self._choices[command]()):
                yield one
        elif begun is not None:
            typed = text.rpartition("@")[2]
            for file in ranked(begun, await self._offered())[:MOST_OFFERED]:
                shown = cut(visible_line(file.path), _COLUMNS)
                yield Completion(mention_of(file.path), -len(typed) - 1, shown, display_meta=_size(file.size))
        else:
            for one in self.get_completions(document, complete_event):
                yield one
            for one in self._of_prompts(text):
                yield one

    def _of_prompts(self, text: str) -> Iterator[Completion]:
        """Prompts whose names begin so, or what the one that was chosen takes and was not given yet."""
        name, space, rest = text.partition(" ")
        if not name.startswith("/"):
            return
        for prompt in self._prompts():
            command = f"/{prompt.server}:{prompt.name}"
            if not space and command.startswith(name):
                yield Completion(command, -len(name), visible_line(command), display_meta=visible_line(prompt.about))
            elif space and command == name:
                begun = rest.rpartition(" ")[2]
                for one in prompt.arguments:
                    if one.name.startswith(begun) and f"{one.name}=" not in rest:
                        yield Completion(f"{one.name}=", -len(begun), display_meta=visible_line(one.about))

    def _chosen(self, begun: str, choices: Sequence[Choice]) -> Iterator[Completion]:
        """What holds the words that were typed; with digits where none were, since a digit chooses then."""
        for number, one in enumerate(matching(begun, choices), 1):
            shown = cut(visible_line(one.shown or one.word), _COLUMNS)
            digit = "" if begun or not one.shown else f"{number}  " if number <= _NUMBERED else "   "
            yield Completion(one.word, -len(begun), f"{digit}{shown}", display_meta=visible_line(one.told))

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Completions for the text before the cursor."""
        text = document.text_before_cursor
        name, space, rest = text.partition(" ")
        if name.startswith("/") and not space and "/" not in name[1:]:
            for command, explained in self._commands.items():
                if command.startswith(name):
                    yield Completion(command, -len(name), display_meta=explained)
        elif name in self._of_paths and space:
            yield from self._paths_for(rest, complete_event)
        elif complete_event.completion_requested:
            word = text.rpartition(" ")[2].rpartition("\n")[2]
            yield from self._paths_for(word, complete_event)

    def _paths_for(self, begun: str, event: CompleteEvent) -> Iterator[Completion]:
        """Paths, with names as one may look at them."""
        for one in self._paths.get_completions(Document(begun), event):
            yield Completion(one.text, one.start_position, display=visible_line(one.display_text))


def _size(size: int) -> str:
    if size < 0:
        return ""
    from angelia.context.media_forms import size_words

    return size_words(size)
