"""What a shell would do that obeys a `.env` as soon as its folder is entered: assigning literal words is harmless.

Oh My Zsh's `dotenv` and autoenv source it. Read as a shell reads it (Shell Command Language, 2.2, 2.3 and 2.10), as far
as plain assignments go; what is anything else is a risk, and so is a variable that makes programs run others.
"""

import hashlib
import re

_NAME = r"[A-Za-z_]\w*"
_REFERENCE = rf"\$(?:{_NAME}|\{{{_NAME}\}})(?![\w\[])"
_BARE = r"[\w@%+=:,./?*~^{}\[\]!#-]"
_WORD = rf"""(?:{_BARE}|\\[^\n]|'[^']*'|"(?:[^"$`\\]|\\[\s\S]|{_REFERENCE})*"|{_REFERENCE})*"""
_ASSIGNED = re.compile(rf"({_NAME})(?:=({_WORD}))?", re.ASCII)
_BLANK = re.compile(r"[ \t]*")
_END = re.compile(r"[ \t]*(?:\r?\n|;|&(?!&)|\Z|(?<=[ \t])#[^\n]*)")
_COMMENT = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)")
_EXPORT = re.compile(r"[ \t]*export[ \t]+")

_STEERS = re.compile(
    r"""(?x)
    # shells: what they run, read, show and count with; assigning to a number evaluates what is assigned
    PATH|path|FPATH|fpath|CDPATH|cdpath|MAILPATH|mailpath|MODULE_PATH|module_path|ENV|BASH\w*|ZDOTDIR|ZSH\w*|SHELL
    |SHELLOPTS|IFS|PROMPT\w*|prompt|PS[0-4]|RPS[12]|RPROMPT2?|SPROMPT|\w+_functions|\w*NULLCMD|HIST\w+|SAVEHIST|HOME
    |INPUTRC|TERMCAP|TERMINFO\w*|FCEDIT|GLOBIGNORE|EXECIGNORE|SECONDS|RANDOM|COLUMNS|LINES|LINENO|SHLVL|E?[UG]ID
    |OPTIND|TMOUT|KEYTIMEOUT|MAILCHECK|PERIOD|LISTMAX|DIRSTACKSIZE|LOGCHECK|TTYIDLE|ERRNO|FUNCNEST
    # what everyday programs load and begin
    |LD_\w+|DYLD_\w+|GCONV_PATH|LOCPATH|NLSPATH|GLIBC_TUNABLES|GTK\w*_MODULES|GTK_PATH|GIO_\w+|QT_\w*PATH|OPENSSL_\w+
    |GIT_\w+|SSH_\w+|GNUPGHOME|SUDO_\w+|\w*EDITOR|VISUAL|\w*PAGER|BROWSER|LESS\w*|MAN\w*|BAT_\w+|TAR_OPTIONS
    |GREP_OPTIONS|RSYNC_\w+|CURL_HOME|WGETRC|TMUX\w*|VIM\w*|GVIMINIT|EXINIT|MYVIMRC|NVIM\w*|EMACS\w+|FZF_\w+
    |XDG_\w+|STARSHIP_\w+|RIPGREP_CONFIG_PATH|KUBECONFIG|DOCKER_CONFIG|AWS_CONFIG_FILE|AWS_SHARED_CREDENTIALS_FILE
    |DIRENV_\w+|MISE_\w+|ASDF_\w+|HERMIT_\w+|NVM_\w+|PYENV_\w+|RBENV_\w+|DEVBOX\w*
    # interpreters and compilers
    |PYTHON(?:PATH|HOME|STARTUP|INSPECT|BREAKPOINT|USERBASE|WARNINGS|EXECUTABLE|PLATLIBDIR|PYCACHEPREFIX)|VIRTUAL_ENV
    |PIP_\w+|UV_\w+|CONDA_\w+|PERL\w+|RUBY\w+|GEM_\w+|BUNDLE_\w+|NODE_(?:OPTIONS|PATH|REPL\w+)|(?i:npm_config_\w+)
    |YARN_\w+|_?JAVA_\w*OPTIONS|JDK_JAVA_OPTIONS|JAVA_(?:HOME|OPTS)|(?:MAVEN|GRADLE|SBT)_OPTS|CLASSPATH|LUA_\w+
    |PHP_INI_SCAN_DIR|PHPRC|R_(?:PROFILE|ENVIRON|LIBS)\w*|JULIA_\w+|CC|CXX|CPP|CARGO_\w+|RUST\w+|MAKE(?:FLAGS|FILES)
    |GO(?:FLAGS|ROOT|PATH|ENV|BIN|TOOLCHAIN)|CMAKE_\w+
    """,
    re.ASCII,
)
"""Variables by which programs that a person starts anyway run others, or read settings that do."""


def dotenv_risks(text: str) -> frozenset[str]:
    r"""What is more than assigning; from the first thing on that is not understood, all of the rest is one risk.

    >>> sorted(dotenv_risks("A=1\nexport B='two words'  # C\nPATH=./bin\n"))
    ['PATH=./bin']
    """
    risks = set[str]()
    at = 0
    while at < len(text):
        if found := _COMMENT.match(text, at):
            at = found.end()
            continue
        end = _statement(text, at, risks)
        if end is None:
            line = text[at:].partition("\n")[0]
            digest = hashlib.sha256(text[at:].encode("utf-8", "surrogateescape")).hexdigest()
            return frozenset({*risks, f"{line} ({digest})"})
        at = end
    return frozenset(risks)


def _statement(text: str, at: int, risks: set[str]) -> int | None:
    """Where a statement of assignments alone ends, or None if it is no such; `risks` takes those that steer."""
    export = _EXPORT.match(text, at)
    at = export.end() if export else _skip(text, at)
    while found := _ASSIGNED.match(text, at):
        name, value = found[1], found[2]
        if (value is None and not export) or _evaluates(value or ""):
            return None
        if value is not None and _STEERS.fullmatch(name):
            risks.add(found[0])
        if ended := _END.match(text, found.end()):
            return ended.end()
        at = _skip(text, found.end())
        if at == found.end():
            return None
    return None


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _evaluates(value: str) -> bool:
    """Whether a shell that evaluates the value once more, as it does with numbers, would run something."""
    plain = re.sub(r"['\"\\]", "", value)
    return "`" in plain or "$(" in plain or "$[" in plain or "\0" in plain
