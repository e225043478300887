"""Claims about what a command line risks, over a corpus of attempts to hide it."""

import shlex
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.policy.shell.classifier import classify
from angelia.policy.shell.risk import CommandContext, Risk
from angelia.policy.shell.words import as_it_was, in_ascii

GROUND = CommandContext("/home/me/work", "/home/me", "/home/me/.angelia")
CORPUS: dict[str, list[tuple[str, str]]] = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text(encoding="utf-8")
)
CASES = [(section, command) for section, cases in CORPUS.items() for command, _ in cases]
RISKY = [command for section, command in CASES if section not in {"harmless", "changes"}]
HARMLESS = [command for command, _ in CORPUS["harmless"]]


def risks(command: str) -> set[Risk]:
    return {finding.risk for finding in classify(command, GROUND)}


@pytest.mark.parametrize(("section", "command"), CASES)
def test_what_a_command_risks_is_found(section: str, command: str) -> None:
    expected = {"harmless": set[Risk](), "changes": {Risk.CHANGES}}.get(section)
    if expected is None:
        assert Risk(section) in risks(command)
    else:
        assert risks(command) == expected, classify(command, GROUND)


def test_the_corpus_is_large_and_knows_every_risk() -> None:
    assert len(RISKY) >= 300
    assert {*CORPUS} == {"harmless", *map(str, Risk)}


def test_every_finding_says_why_and_shows_the_piece() -> None:
    for command in RISKY:
        for finding in classify(command, GROUND):
            assert finding.reason
            assert finding.piece.strip()


SIMPLE_RISKS = ["rm -rf src", "git reset --hard", "git restore .", "chmod u+s x", "cat /home/me/.netrc", "shred a.py"]
WRAPPERS = [
    "env {}", "env -i A=1 {}", "nohup {}", "nice -n 5 {}", "timeout 5 {}", "timeout -k 1 5 {}", "time {}", "setsid {}",
    "command {}", "exec {}", "stdbuf -oL {}", "busybox {}", "sh -c {q}", "bash -lc {q}", "bash -o pipefail -c {q}",
    "eval {q}", "eval {}", "xargs {}", "echo | xargs -n1 {}", "find . -exec {} \\;", "echo {q} | sh", "bash <<< {q}",
    "true && {}", "false || {}", "ls; {}", "ls\n{}", "( {} )", "{{ {}; }}", "! {}", "if true; then {}; fi",
    "while false; do {}; done", "f() {{ {}; }}; f", "echo $({})", "echo `{}`", 'echo "$({})"', "x=$({})", "{} &",
    "trap {q} EXIT", "alias x={q}", "A=1 {}", "watch {}", "uv run {}", "case x in *) {};; esac", "cat <({})",
    "cat <<EOF | bash\n{}\nEOF", "python3 -c \"import os; os.system('''{}''')\"", "flock /tmp/l {}", "{} # quietly",
]  # fmt: skip


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapped_risk_is_the_same_risk(wrapper: str) -> None:
    for command in SIMPLE_RISKS:
        assert risks(command) <= risks(wrapper.format(command, q=shlex.quote(command))), command


@given(
    st.sampled_from(SIMPLE_RISKS),
    st.lists(st.sampled_from(["sh -c {q}", "bash -lc {q}", "env {}", "nohup {}", "timeout 5 {}"]), max_size=4),
)
def test_wrappers_nest(command: str, wrappers: list[str]) -> None:
    wrapped = command
    for wrapper in wrappers:
        wrapped = wrapper.format(wrapped, q=shlex.quote(wrapped))
    assert risks(command) <= risks(wrapped)


def quoted(word: str, how: int) -> str:
    """One of the ways in which a shell lets people write the same word."""
    match how:
        case 0:
            return shlex.quote(word)
        case 1:
            return "'" + word.replace("'", "'\\''") + "'"
        case 2:
            return '"' + "".join(f"\\{mark}" if mark in '"\\$`' else mark for mark in word) + '"'
        case 3:
            return "$'" + "".join(f"\\x{byte:02x}" for byte in word.encode()) + "'"
        case 4:
            return "".join(f"\\{mark}" if mark.isascii() and not mark.isalnum() else mark for mark in word)
        case _:
            return "''".join(shlex.quote(mark) for mark in word)


@given(st.data(), st.sampled_from(SIMPLE_RISKS))
def test_writing_a_risk_differently_keeps_it(data: st.DataObject, command: str) -> None:
    words = [quoted(word, data.draw(st.integers(0, 5))) for word in command.split()]
    assert risks(command) <= risks(" ".join(words))


LITERAL = [
    "ls -la src", "git status", "git log --oneline", "pytest -x tests", "wc -l README.md", "git add src/a.py",
    "make test", "cargo build", "mkdir -p a/b", "git commit -m done", "echo rm -rf /", "python tool.py",
]  # fmt: skip


@given(st.data(), st.sampled_from(LITERAL))
def test_quoting_a_word_never_makes_a_harmless_command_risky(data: st.DataObject, command: str) -> None:
    words = [quoted(word, data.draw(st.integers(0, 5))) for word in command.split()]
    assert risks(" ".join(words)) == set()


@given(st.text())
def test_any_text_may_be_echoed_when_quoted(text: str) -> None:
    visible = "".join(mark for mark in text if mark.isprintable())
    assert risks(f"echo {shlex.quote(visible)}") == set()


@given(
    st.one_of(
        st.text(), st.lists(st.sampled_from([*"|&;<>(){}$`'\"\\ \n#*?[]~=!", "rm", "sh", "-c", "EOF"])).map("".join)
    )
)
def test_no_text_breaks_the_reader(text: str) -> None:
    assert all(finding.reason and finding.risk in Risk for finding in classify(text, GROUND))


WORDS = sorted({word for _, command in CASES for word in command.split(" ")})


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_no_mix_of_the_corpus_breaks_the_reader(text: str) -> None:
    assert all(finding.reason and finding.risk in Risk for finding in classify(text, GROUND))


@pytest.mark.parametrize("plane", range(1, 17))
def test_no_wide_character_ends_the_process(plane: int) -> None:
    """The grammar's scanner reads outside its tables when it meets one after a brace (tree-sitter-bash issue 337)."""
    for code in range(plane << 16, (plane << 16) + 0x10000, 0x301):
        assert Risk.UNREADABLE in risks("{" + chr(code))


@given(st.text(), st.text())
def test_spelling_in_ascii_keeps_equal_and_different_apart(one: str, other: str) -> None:
    assert as_it_was(in_ascii(one)) == one or set("\x05\x06") & set(one)
    if not set("\x05\x06") & {*one, *other}:
        assert (in_ascii(one) == in_ascii(other)) == (one == other)


@pytest.mark.parametrize("mark", ["(", "$(", "{ ", "sh -c '", "`", "((", "if ", "<(", '"$('])
def test_deep_nesting_is_risky_and_ends(mark: str) -> None:
    assert Risk.UNREADABLE in risks(mark * 4999)


def test_an_endless_line_is_risky_and_ends() -> None:
    assert Risk.UNREADABLE in risks("echo " + "a" * 200_000)


@given(st.sampled_from(HARMLESS), st.sampled_from(SIMPLE_RISKS))
def test_a_risk_on_the_next_line_is_found_behind_any_harmless_command(harmless: str, command: str) -> None:
    assert risks(command) <= risks(f"{harmless}\n{command}")
