"""Code in another language on a command line (`python -c`, `perl -e`): what its names and literals give away."""

import re
from collections.abc import Sequence

from angelia.policy.shell.risk import Finding, Risk
from angelia.policy.shell.words import Word, names

CODE_FLAGS: dict[str, frozenset[str]] = {
    "python": names("-c"),
    "perl": names("-e -E"),
    "ruby": names("-e"),
    "node": names("-e -p --eval --print"),
    "bun": names("-e --eval"),
    "deno": names("eval"),
    "php": names("-r"),
    "lua": names("-e"),
    "osascript": names("-e"),
    "rscript": names("-e"),
    "julia": names("-e"),
    "emacs": names("--eval -eval --execute"),
}
"""Interpreters and the options after which code follows."""

_LITERAL = re.compile(
    r"\"\"\"(.*?)\"\"\"|'''(.*?)'''"
    r"|\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`",
    re.DOTALL,
)
_CLIENTS = names("psql mysql mariadb sqlite3 duckdb redis-cli valkey-cli mongo mongosh clickhouse-client cqlsh influx")
_LOSES = re.compile(r"\b(?:drop|truncate|delete\s+from|flushall|flushdb|dropdatabase|deletemany)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w*")

_DELETES = names(
    "rmtree unlink unlinkSync rmSync rmdirSync removedirs rimraf rm_rf rm_r remove_dir_all truncate deltree"
)
_DELETING = re.compile(
    r"\b(?:os|fs|fsp|fse|promises|File|Dir|IO|FileUtils|Deno|shutil)\s*(?:\.|::)\s*(?:remove|delete|rm|rmdir|replace)\b"
    r"|\bfrom\s+os\s+import\b.*\b(?:remove|replace)\b|(?<![\w.])rm\s*\(|\bdelete-(?:file|directory)\b"
    r"|\bDeno\s*\.\s*removeSync\b"
)
_MAY_DELETE = names("remove delete unlink rmtree rmdir removedirs truncate")
"""Names that delete where they stand as a text: `getattr(os, "remove")`, `array_map("unlink", …)`."""
_OPENS = names("open fopen openSync sysopen")
_WRITES_WHOLE = names("write_text write_bytes writeFileSync writeFile writeTextFile file_put_contents binwrite")
_WRITES = names(
    "write writelines writerow writerows writestr dump print printf puts fwrite fputs say save savefig to_csv to_json "
    "copyfileobj tofile"
)
_WRITE_MODE = re.compile(r"\+?>{1}[^>]*|w[bt+]*")
_RUNS = names(
    "system popen execute Popen call check_call check_output getoutput getstatusoutput execSync spawn spawnSync exec "
    "execFile execFileSync execvp execv execl execlp execve passthru shell_exec proc_open subprocess backtick do"
)
_SENDS = names(
    "urlopen requests urllib httpx aiohttp socket fetch axios smtplib ftplib paramiko http https net LWP Net Socket"
)
_DECODES = names("b64decode b85decode a85decode fromhex decompress unhexlify atob marshal decode_base64 unpack codecs")
_EVALUATES = names("exec eval compile Function loads require vm")


def interpreter_of(program: str) -> str:
    """The family of an interpreter: `python3.12` is `python`; empty for other programs.

    >>> interpreter_of("python3.12"), interpreter_of("ls")
    ('python', '')
    """
    family = re.sub(r"[\d.]+$", "", program)
    family = {"nodejs": "node", "pypy": "python", "luajit": "lua"}.get(family, family)
    return family if family in CODE_FLAGS else ""


def code_findings(code: str, piece: str) -> list[Finding]:
    """Findings that the names in the code give; its literals are judged by the caller (`code_scripts`)."""
    plain = _LITERAL.sub("''", code)
    bare = set(_NAME.findall(plain))
    found = []
    named = (bare & _DELETES) | (_MAY_DELETE & set(literals(code)))
    if named or (shown := _DELETING.search(plain)):
        said = ", ".join(sorted(named)) or (shown[0] if shown else "")
        found.append(Finding(Risk.DESTROYS, f"deletes files ({said})", piece))
    if bare & _SENDS:
        found.append(Finding(Risk.SENDS_OUT, "may send data to another machine", piece))
    if bare & _DECODES and bare & _EVALUATES:
        found.append(Finding(Risk.RUNS_UNSEEN, "decodes code and runs it", piece))
    return found


def emptied_by_code(code: str) -> list[str] | None:
    """The files that code opens to write and leaves empty, as far as it names them; None where it empties none.

    >>> emptied_by_code("open('a.py', 'w')"), emptied_by_code("open('a.py', 'w').write(x)")
    (['a.py'], None)
    """
    bare, texts = set(_NAME.findall(_LITERAL.sub("''", code))), literals(code)
    opened = bool(bare & _OPENS) and any(_WRITE_MODE.fullmatch(text) for text in texts) and not bare & _WRITES
    whole = ("" in texts) and (bool(bare & _WRITES_WHOLE) or bool(re.search(r"\b(?:File|IO)\.write\b", code)))
    if not opened and not whole:
        return None
    return [text for text in texts if text and not _WRITE_MODE.fullmatch(text)]


def query_findings(program: str, rest: Sequence[Word], piece: str) -> list[Finding]:
    """Findings for a query on the command line of a database client (`psql -c "drop table t"`)."""
    lost = is_database_client(program) and any(_LOSES.search(word.text) for word in rest)
    return [Finding(Risk.DESTROYS, "deletes data from a database", piece)] if lost else []


def is_database_client(program: str) -> bool:
    """Whether a program takes queries."""
    return program in _CLIENTS


def literals(code: str) -> list[str]:
    """The values of the string literals in the code."""
    return [next((group for group in match.groups() if group is not None), "") for match in _LITERAL.finditer(code)]


def code_scripts(code: str) -> list[str]:
    """The command lines that the code may hand to a shell: each literal, and all of them as one argument list."""
    found = literals(code)
    if not set(_NAME.findall(_LITERAL.sub("''", code))) & _RUNS and "`" not in code:
        return []
    return [*found, " ".join(found)] if len(found) > 1 else found
