"""Git's settings as Git reads them (git-config(1), "Syntax"), and which of their entries may stand unasked.

Only what is known to be harmless may: names of people and branches, addresses, formats, colours. Whatever names a
program, another file of settings or a folder of hooks is not on the list, and neither is what nobody has judged yet.
"""

import re
from collections.abc import Iterator

from msgspec import Struct


class GitConfigEntry(Struct, frozen=True):
    """One value: section and name in lower case, the subsection between them as it was written, or empty."""

    section: str
    sub: str
    name: str
    value: str

    @property
    def key(self) -> str:
        """As `git config --list` writes it."""
        return ".".join(part for part in (self.section, self.sub, self.name) if part)


class Unreadable(ValueError):
    """Git would stop at this text, or read it otherwise than we do."""


def entries(text: str) -> Iterator[GitConfigEntry]:
    """Every value, in order.

    >>> [entry.key for entry in entries('[core] fsmonitor = "x" ; y')]
    ['core.fsmonitor']

    Raises:
        Unreadable: the text breaks the syntax.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    section, sub, at = "", "", 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
        elif char in "#;":
            at = _line_end(text, at)
        elif char == "[":
            section, sub, at = _header(text, at)
        else:
            found = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*").match(text, at)
            if found is None or not section:
                raise Unreadable(f"character {at}")
            at = found.end()
            value = "true"
            if text[at : at + 1] == "=":
                value, at = _value(text, at + 1)
            elif text[at : at + 1] not in ("\n", ""):
                raise Unreadable(f"character {at}")
            yield GitConfigEntry(section, sub, found[1].lower(), value)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _header(text: str, at: int) -> tuple[str, str, int]:
    found = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]').match(text, at)
    if found is None:
        raise Unreadable(f"character {at}")
    if found[2] is not None:
        return found[1].lower(), re.sub(r"\\(.)", r"\1", found[2]), found.end()
    section, _, sub = found[1].lower().partition(".")
    return section, sub, found.end()


_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}


def _value(text: str, at: int) -> tuple[str, int]:
    """Blanks around it fall away, quotes come and go, a backslash at the end of a line goes on in the next."""
    value, quoted, keep = "", False, 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\n":
            if quoted:
                raise Unreadable(f"character {at}")
            break
        if not quoted and char in "#;":
            at = _line_end(text, at)
            break
        if char == "\\":
            escaped = text[at : at + 1]
            at += 1
            if escaped == "\n":
                continue
            if escaped not in _ESCAPES:
                raise Unreadable(f"character {at}")
            value += _ESCAPES[escaped]
            keep = len(value)
        elif char == '"':
            quoted = not quoted
            keep = len(value)
        elif quoted or not char.isspace():
            value += char
            keep = len(value)
        elif value:
            value += char
    if quoted:
        raise Unreadable("the end")
    return value[:keep], at


_ADDRESS = (
    r"(?!-)(?:(?:https?|ssh|git|file|git\+ssh)://[^\s]+"
    r"|[/.~][^\x00-\x1f]*|(?!\w[\w+.-]*::)[^\s:]+(?::[^\s:][^\s]*)?)\Z"
)
"""Where Git fetches from without a helper of that name: never `ext::…` or `NAME::…` (gitremote-helpers(7)). The path of
a folder may have blanks.
"""
_ANY = r"[^\x00]*\Z"
_FALSE = r"(?i:false|no|off|0|)\Z"
_NAME = r"[a-z][a-z-]*\Z"
_WEB = r"(https?://[^\s]*|ssh://[^\s]*|git@[\w.-]+:[^\s:]*)\Z"

_NAMES: dict[str, str] = {
    "advice": "*",
    "author": "name email",
    "branch": "autosetupmerge autosetuprebase sort",
    "branch.*": "remote pushremote merge rebase description vscode-merge-base gh-merge-base github-pr-owner-number",
    "clone": "defaultremotename rejectshallow",
    "color": "*",
    "color.*": "*",
    "column": "*",
    "commit": "gpgsign status verbose",
    "committer": "name email",
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol"
    " safecrlf quotepath abbrev compression loosecompression bigfilethreshold sparsecheckout sparsecheckoutcone"
    " untrackedcache preloadindex commentchar checkstat trustctime hidedotfiles longpaths whitespace warnambiguousrefs"
    " multipackindex commitgraph packedgitlimit packedgitwindowsize deltabasecachelimit splitindex usereplacerefs",
    "diff": "algorithm context interhunkcontext renames renamelimit mnemonicprefix noprefix colormoved colormovedws"
    " indentheuristic submodule statgraphwidth wserrorhighlight relative ignoresubmodules",
    "extensions": "objectformat worktreeconfig partialclone refstorage noop relativeworktrees compatobjectformat"
    " preciousobjects",
    "feature": "manyfiles experimental",
    "fetch": "prune prunetags parallel recursesubmodules writecommitgraph output unpacklimit fsckobjects",
    "gc": "auto autodetach autopacklimit pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire"
    " writecommitgraph packrefs aggressivedepth aggressivewindow",
    "http": "postbuffer version lowspeedlimit lowspeedtime maxrequests",
    "i18n": "commitencoding logoutputencoding",
    "index": "version threads sparse skiphash",
    "init": "defaultbranch",
    "lfs": "repositoryformatversion concurrenttransfers",
    "lfs.*": "access locksverify",
    "log": "abbrevcommit date decorate follow graphcolors showroot mailmap",
    "maintenance": "auto strategy",
    "maintenance.*": "enabled schedule",
    "merge": "conflictstyle ff renames renamelimit log verbosity stat branchdesc directoryrenames",
    "pack": "threads depth window windowmemory compression writebitmaps usesparse island deltacachesize",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags gpgsign recursesubmodules useforceifincludes",
    "rebase": "autosquash autostash updaterefs stat missingcommitscheck abbreviatecommands forkpoint",
    "receive": "denycurrentbranch denynonfastforwards denydeletes fsckobjects autogc unpacklimit",
    "remote": "pushdefault",
    "remote.*": "fetch push tagopt mirror prune prunetags skipdefaultupdate skipfetchall promisor partialclonefilter"
    " followremotehead gh-resolved",
    "rerere": "enabled autoupdate",
    "stash": "showpatch showstat showincludeuntracked",
    "status": "branch short showuntrackedfiles submodulesummary relativepaths aheadbehind renames showstash",
    "submodule": "recurse active fetchjobs propagatebranches alternatelocation alternateerrorstrategy",
    "submodule.*": "active branch ignore fetchrecursesubmodules path",
    "tag": "gpgsign sort forcesignannotated",
    "transfer": "fsckobjects unpacklimit hiderefs",
    "user": "name email signingkey useconfigonly",
    "versionsort": "suffix",
    "worktree": "guessremote userelativepaths",
}
"""Names by section (`*` behind it: with a subsection) whose every value is harmless."""

_VALUES: dict[tuple[str, str], str] = {
    ("alias", "*"): _NAME,  # one word is a command of Git's own; more may hold `-c`, `--exec` or `!`
    ("core", "fsmonitor"): _FALSE,
    ("remote.*", "url"): _ADDRESS,
    ("remote.*", "pushurl"): _ADDRESS,
    ("submodule.*", "update"): r"(?:checkout|rebase|merge|none)\Z",
    ("submodule.*", "url"): _ADDRESS,
    ("url.*", "insteadof"): _ANY,
    ("url.*", "pushinsteadof"): _ANY,
}
"""Names of which only some values are harmless."""


_LEADS = frozenset({("remote", "url"), ("remote", "fetch"), ("branch", "remote"), ("branch", "merge")})
"""Where a remote or a branch leads: said once."""
_LEADS_ELSEWHERE = frozenset(
    {("remote", "pushurl"), ("remote", "push"), ("remote", "mirror"), ("remote", "pushdefault")}
    | {("branch", "pushremote"), ("url", "insteadof"), ("url", "pushinsteadof")}
)
"""What overrides that."""


def refusal_of_change(before: str, after: str) -> str:
    r"""Why a command may not make these settings of a repository out of those, or nothing.

    Entries that are not harmless stay as they are, in their order. Where the person's next `git push` or `git pull`
    goes stays too: remotes and branches may be added and removed, but none leads elsewhere than it did.

    >>> refusal_of_change("[user]\n name = a", "[user]\n name = b")
    ''
    """
    try:
        old, new = list(entries(before)), list(entries(after))
    except Unreadable as error:
        return f"Git could not read its settings then ({error})"
    risky = [entry for entry in new if not is_harmless(entry)]
    if risky != [entry for entry in old if not is_harmless(entry)]:
        return "a setting would change with which outside of the sandbox it could run programs"
    said = {(entry.section, entry.sub, entry.name) for entry in old}
    for entry in new:
        leads = (entry.section, entry.name) in _LEADS and (entry.section, entry.sub, entry.name) in said
        if entry not in old and (leads or (entry.section, entry.name) in _LEADS_ELSEWHERE):
            return f"`{entry.key}` decides where your own next push or pull would go"
    return ""


def is_harmless(entry: GitConfigEntry) -> bool:
    r"""Whether this value may stand, whoever wrote it. `core.worktree` is not judged here: it depends on the place.

    >>> [is_harmless(e) for e in entries("[core]\n bare = true\n pager = x")]
    [True, False]
    """
    section = f"{entry.section}.*" if entry.sub else entry.section
    if entry.section == "url" and not re.match(_WEB, entry.sub):
        return False
    for key in ((section, entry.name), (section, "*")):
        if key in _VALUES:
            return re.match(_VALUES[key], entry.value) is not None
    allowed = _NAMES.get(section, "").split()
    return entry.name in allowed or allowed == ["*"]
