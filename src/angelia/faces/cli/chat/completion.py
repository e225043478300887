"""What Tab offers: commands and their arguments, and paths."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from angelia.core.visible import visible_line

Arguments = Callable[[], Iterable[str]]


class Completions(Completer):
    """`commands` are names (with slash) and help; `arguments` are what a command takes; `of_paths` take a path."""

    def __init__(
        self, commands: Mapping[str, str], arguments: Mapping[str, Arguments], of_paths: frozenset[str]
    ) -> None:
        self._commands = commands
        self._arguments = arguments
        self._of_paths = of_paths
        self._paths = PathCompleter(expanduser=True)

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
        elif name in self._arguments and space:
            for argument in self._arguments[name]():
                if argument.startswith(rest):
                    yield Completion(argument, -len(rest))
        elif complete_event.completion_requested:
            word = text.rpartition(" ")[2].rpartition("\n")[2]
            yield from self._paths_for(word, complete_event)

    def _paths_for(self, begun: str, event: CompleteEvent) -> Iterator[Completion]:
        """Paths, with names as one may look at them."""
        for one in self._paths.get_completions(Document(begun), event):
            yield Completion(one.text, one.start_position, display=visible_line(one.display_text))
