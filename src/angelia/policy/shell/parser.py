"""Reads a shell command line into the simple commands that it holds."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from angelia.policy.shell.words import GLOB, HOLE, Word, ansi_text, as_it_was, bare_text, braces, in_ascii, quoted_text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_DEEPEST = 60
"""Levels of nesting that are read. Hand-written commands stay under ten."""

_LONGEST = 100_000
"""Characters that are read; longer ones are reported as unreadable."""


class Redirect(Struct, frozen=True):
    """One redirection. `operator` is as written; a here-document is `<<` with its body as target."""

    operator: str
    target: Word


class SimpleCommand(Struct, frozen=True):
    """One simple command. `words` begins with the program, and is empty for a bare redirection or assignment.

    `settings` are `NAME=value` before the program. `feeds` are the calls before it in its pipeline, in order.
    """

    words: tuple[Word, ...]
    source: str
    redirects: tuple[Redirect, ...] = ()
    settings: tuple[tuple[str, Word], ...] = ()
    feeds: tuple["SimpleCommand", ...] = ()


class ParsedLine(Struct, frozen=True):
    """A command line, read.

    `calls` holds every simple command in it, in order, also those in substitutions, branches and functions.
    `unreadable` are pieces that do not parse or hide where words begin. `bombs` are functions that call themselves.
    `single` says that the line is one simple command and nothing else.
    """

    calls: tuple[SimpleCommand, ...]
    unreadable: tuple[str, ...] = ()
    bombs: tuple[str, ...] = ()
    single: bool = False


def read_line(command: str, variables: Mapping[str, str]) -> ParsedLine:
    """Read a command line; `variables` are those whose values are known (`HOME`, `PWD`). Never raises."""
    if len(command) > _LONGEST or any(ord(mark) < 9 for mark in command):
        return ParsedLine((), (command[:200],))
    root = _parser().parse(in_ascii(command)).root_node
    reader = _Reader(root, variables)
    calls = tuple(reader.visit(root, ()))
    statements = [child for child in root.children if child.type != "comment"]
    single = len(statements) == 1 and statements[0].type in {"command", "redirected_statement"} and len(calls) == 1
    return ParsedLine(calls, tuple(reader.unreadable), tuple(reader.bombs), single)


def leaves_behind(command: str) -> bool:
    """Whether a command line starts something with `&` that may go on when it has ended."""
    if "&" not in command or len(command) > _LONGEST:
        return False
    nodes = [_parser().parse(in_ascii(command)).root_node]
    while nodes:
        node = nodes.pop()
        if node.type == "&":
            return True
        nodes.extend(node.children)
    return False


@cache
def _parser() -> "Parser":
    # 24 ms to import, so only once a command is to be judged.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _source(node: "Node") -> str:
    return as_it_was(node.text)


def _assignments(root: "Node") -> Counter[str]:
    """How often each name may get a value. A word that equals a name counts too: `read x`, `unset x`."""
    names: Counter[str] = Counter()
    cursor = [root]
    while cursor:
        node = cursor.pop()
        cursor.extend(node.children)
        if (
            node.type == "variable_name"
            and node.parent
            and node.parent.type in {"variable_assignment", "for_statement"}
        ):
            names[_source(node)] += (
                2 if node.parent.type == "for_statement" or b"+=" in (node.parent.text or b"") else 1
            )
        elif node.type == "word":
            names[_source(node)] += 1
    return names


class _Reader:
    """Walks one parse tree; remembers variables that get one literal value."""

    def __init__(self, root: "Node", variables: Mapping[str, str]) -> None:
        self.assigned = _assignments(root)
        self.values = {name: value for name, value in variables.items() if not self.assigned[name]}
        self.unreadable: list[str] = []
        self.bombs: list[str] = []
        self.depth = 0

    def visit(self, node: "Node", feeds: tuple[SimpleCommand, ...]) -> list[SimpleCommand]:
        """The calls under `node`, in order; what `feeds` print may be their input."""
        if node.is_error or node.is_missing:
            self.unreadable.append(_source(node))
        if self.depth >= _DEEPEST:
            self.unreadable.append(_source(node)[:80])
            return []
        self.depth += 1
        try:
            return self._by_type(node, feeds)
        finally:
            self.depth -= 1

    def _by_type(self, node: "Node", feeds: tuple[SimpleCommand, ...]) -> list[SimpleCommand]:
        match node.type:
            case "command" | "declaration_command" | "unset_command":
                return self._command(node, feeds)
            case "variable_assignment":
                name, value = self._assignment(node)
                self._remember(name, value, node)
                return [
                    *self._inside(node.children, feeds),
                    SimpleCommand((), _source(node), settings=((name, value),)),
                ]
            case "pipeline":
                found: list[SimpleCommand] = []
                for stage in node.named_children:
                    found += self.visit(stage, (*feeds, *found))
                return found
            case "redirected_statement":
                return self._redirected(node, feeds)
            case "function_definition":
                name = "".join(_source(child) for child in node.named_children[:1])
                body = self._inside(node.named_children[1:], feeds)
                if any(call.words and call.words[0].text == name for call in body):
                    self.bombs.append(_source(node))
                return body
            case "for_statement":
                words = [w for child in node.children_by_field_name("value") for w in self._words(child)]
                loop = SimpleCommand((Word("for", "for"), *words), _source(node).split("\n", 1)[0])
                return [loop, *self._inside(node.named_children, feeds)]
            case "comment":
                return []
            case _:
                return self._inside(node.children, feeds)

    def _inside(self, nodes: Iterable["Node"], feeds: tuple[SimpleCommand, ...]) -> list[SimpleCommand]:
        return [call for node in nodes for call in self.visit(node, feeds)]

    def _command(self, node: "Node", feeds: tuple[SimpleCommand, ...]) -> list[SimpleCommand]:
        words: list[Word] = []
        settings: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = self._assignment(child)
                settings.append((name, value))
                if node.type == "declaration_command":
                    self._remember(name, value, child)
            elif child.type.endswith("_redirect"):
                redirects.append(self._redirect(child))
            else:
                words += self._words(child)
        inner = self._inside(node.children, feeds) if node.type == "command" else self._substitutions(node, feeds)
        inner = [call for call in inner if call.words or not call.settings]
        return [*inner, SimpleCommand(tuple(words), _source(node), tuple(redirects), tuple(settings), feeds)]

    def _substitutions(self, node: "Node", feeds: tuple[SimpleCommand, ...]) -> list[SimpleCommand]:
        parts = [part for child in node.children for part in (child.children or [child])]
        return self._inside((part for part in parts if part.type != "variable_assignment"), feeds)

    def _redirected(self, node: "Node", feeds: tuple[SimpleCommand, ...]) -> list[SimpleCommand]:
        body = node.child_by_field_name("body")
        calls = self.visit(body, feeds) if body else []
        redirects: list[Redirect] = []
        inner: list[SimpleCommand] = []
        after: list[Node] = []
        for child in node.children_by_field_name("redirect"):
            redirects.append(self._redirect(child))
            for part in child.named_children:
                if part.type.endswith("_redirect"):
                    redirects.append(self._redirect(part))
                if child.type == "heredoc_redirect" and not part.type.startswith(("heredoc_", "file_", "herestring_")):
                    after.append(part)
                else:
                    inner += self.visit(part, feeds)
        # The grammar hangs the redirection of a list's last command on the whole list.
        if body is None:
            calls.append(SimpleCommand((), _source(node), tuple(redirects), feeds=feeds))
        elif body.type in {"command", "list", "pipeline", "negated_command", "declaration_command"} and calls:
            last = calls[-1]
            calls[-1] = replace(last, redirects=(*last.redirects, *redirects), source=_source(node))
        else:
            calls.append(
                SimpleCommand((Word("{", "{"),), _source(node).split("\n", 1)[0], tuple(redirects), feeds=feeds)
            )
        for part in after:
            calls += self.visit(part, (*feeds, *calls) if part.type == "pipeline" else ())
        return [*inner, *calls]

    def _redirect(self, node: "Node") -> Redirect:
        if node.type == "heredoc_redirect":
            start = next((_source(part) for part in node.children if part.type == "heredoc_start"), "")
            bodies = [part for part in node.children if part.type == "heredoc_body"]
            literal = any(mark in start for mark in "'\"\\")
            text = "".join(_source(part) if literal else self._within(part, quoted_text) for part in bodies)
            return Redirect("<<", Word(text, text[:80]))
        targets = node.children_by_field_name("destination") or node.named_children[-1:]
        operator = next((child.type for child in node.children if not child.is_named), "<<<")
        return Redirect(operator, self._words(targets[0])[0] if targets else Word(HOLE, _source(node)))

    def _assignment(self, node: "Node") -> tuple[str, Word]:
        value = node.child_by_field_name("value")
        name = node.child_by_field_name("name")
        return _source(name) if name else "", self._words(value)[0] if value else Word("", "")

    def _remember(self, name: str, value: Word, node: "Node") -> None:
        if self.assigned[name] == 1 and value.known and b"+=" not in (node.text or b"")[: len(name) + 2]:
            self.values[name] = value.text

    def _words(self, node: "Node") -> list[Word]:
        source = _source(node)
        inner = node.named_children[0] if node.type == "command_name" and node.named_children else node
        text = self._text(inner)
        if inner.type in {"simple_expansion", "expansion"} and HOLE not in text:
            # Unquoted, so the shell splits it; with another IFS only running would tell how.
            pieces = text.split() if not self.assigned["IFS"] else [HOLE]
            return [Word(piece, source) for piece in pieces] or [Word("", source)]
        return [Word(piece, source) for piece in braces(text)]

    def _text(self, node: "Node") -> str:
        match node.type:
            case "raw_string":
                return _source(node)[1:-1]
            case "string":
                return self._within(node, quoted_text, trim=1)
            case "translated_string":
                return self._text(node.named_children[0]) if node.named_children else HOLE
            case "ansi_c_string":
                return ansi_text(_source(node)[2:-1])
            case "concatenation":
                return self._within(node, bare_text)
            case "simple_expansion" | "expansion":
                return self._expansion(node)
            case (
                "command_substitution" | "process_substitution" | "arithmetic_expansion" | "array" | "brace_expression"
            ):
                return HOLE
            case "extglob_pattern" | "regex":
                return GLOB
            case _:
                return bare_text(_source(node))

    def _within(self, node: "Node", plain: Callable[[str], str], *, trim: int = 0) -> str:
        """The value of a node that mixes plain text with expansions and quoted pieces."""
        raw = node.text or b""
        at = raw.index(b'"') + 1 if trim else 0
        pieces: list[str] = []
        for child in node.named_children:
            if child.type in {"string_content", "heredoc_content"}:
                continue  # the grammar leaves blanks out of these: the gaps hold all of the text
            pieces += [
                plain(as_it_was(raw[at : child.start_byte - node.start_byte])),
                self._text(child),
            ]
            at = child.end_byte - node.start_byte
        return "".join((*pieces, plain(as_it_was(raw[at : len(raw) - trim]))))

    def _expansion(self, node: "Node") -> str:
        name = next((_source(part) for part in node.named_children if part.type == "variable_name"), "")
        if name == "IFS" and node.parent and node.parent.type in {"command", "command_name", "concatenation"}:
            self.unreadable.append(_source(node.parent))
        plain = _source(node) in {f"${name}", f"${{{name}}}"}
        return self.values.get(name, HOLE) if plain else HOLE
