"""A workspace full of traps, with secrets around it whose words must never be seen, and nothing of which may change."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from angelia.sandboxes.by_commands.launcher import quoted

CANARY = "canary-that-nobody-may-see"
MARK = "overwritten by an attack"
TOOLS = {"r": "read", "w": "write", "s": "send_file"}
_CASES: list[tuple[str, str, str, str]] = tomllib.loads(
    Path(__file__).with_name("attacks.toml").read_text(encoding="utf-8")
)["cases"]
SECOND_NAMES = ("second-name", "second-key")
"""What only a sandbox that reads on this machine can know."""

SECRETS_INSIDE = (".ENV", ".env.", "．env")
MOUNTED = tuple(
    (path, tool, "hidden", "a secret folder that is mounted")
    for path in ("mounted-keys/known", "mounted-own/angelia.db", "mounted-keys/new", "mounted-own/new/file")
    for tool in TOOLS.values()
)


class Attack(Struct, frozen=True):
    """One call: a path, a tool, a piece of the reason it is refused with, and what the trick is."""

    path: str
    tool: str
    reason: str
    trick: str

    def arguments(self) -> Mapping[str, str]:
        """What the model says."""
        return {"path": self.path, "content": MARK} if self.tool == "write" else {"path": self.path}

    def fits(self, said: str) -> bool:
        """Whether the result gives the reason."""
        return re.search(self.reason, said) is not None


class Scene(Struct, frozen=True):
    """Where it happens; all are folders of one machine."""

    work: Path
    outside: Path
    own: Path
    person: Path

    def attacks(self, other_blob: str, *, tools: str = "rws", without: tuple[str, ...] = ()) -> list[Attack]:
        """All of them, each with each of its tools that is among `tools`."""
        own = str(self.own)
        names = {
            "{work}": str(self.work),
            "{outside}": str(self.outside),
            "{own}": own,
            "{OWN}": f"{Path(own).parent}/{Path(own).name.upper()}",
            "{person}": str(self.person),
            "{other}": other_blob,
        }
        return [
            Attack(re.sub(r"\{\w+\}", lambda name: names[name[0]], path), TOOLS[letter], reason, trick)
            for path, letters, reason, trick in _CASES
            if path not in without
            for letter in letters
            if letter in tools
        ]

    def inside(self) -> set[str]:
        """The first names of the traps that a command lays out."""
        return {"pipe", *SECRETS_INSIDE, *self._links()}

    def script(self) -> str:
        """A line for a shell that makes those traps that can be made from inside."""
        lines = ["mkdir -p sub near-by .git/hooks; echo plain >plain.txt; echo >.git/config; mkfifo pipe"]
        lines += [f"echo {CANARY} >{quoted(name)}" for name in SECRETS_INSIDE]
        lines += [f"ln -s {quoted(target)} {quoted(name)}" for name, target in self._links().items()]
        return "; ".join(lines)

    def lay_out(self) -> None:
        """Make the traps and the secrets."""
        for folder in (self.work / "sub", self.work / "near-by", self.work / ".git/hooks", self.outside):
            folder.mkdir(parents=True)
        (self.person / ".ssh").mkdir(mode=0o700, exist_ok=True)
        for secret in (self.outside / "secret.txt", self.person / ".ssh/id_ed25519", self.person / ".netrc"):
            secret.write_text(CANARY)
        (self.work.parent / f"{self.work.name}2").mkdir()
        (self.work.parent / f"{self.work.name}2/secret.txt").write_text(CANARY)
        for name in SECRETS_INSIDE:
            (self.work / name).write_text(CANARY)
        (self.work / "plain.txt").write_text("plain\n")
        (self.work / ".git/config").write_text("[core]\n")
        os.mkfifo(self.work / "pipe")
        for name, target in self._links().items():
            (self.work / name).symlink_to(target)
        os.link(self.person / ".netrc", self.work / "second-name")
        os.link(self.person / ".ssh/id_ed25519", self.work / "second-key")

    def _links(self) -> dict[str, str]:
        return {
            "to-file": f"{self.outside}/secret.txt",
            "to-file-relative": f"../{self.outside.name}/secret.txt",
            "to-folder": str(self.outside),
            "chain-1": "chain-2",
            "chain-2": "sub/../chain-3",
            "chain-3": f"{self.outside}/secret.txt",
            "near": "near-by",
            "up": "..",
            "to-root": "/",
            "loop": "loop",
            "to-nothing": f"{self.outside}/made",
            "to-own": str(self.own),
            "to-keys": str(self.person / ".ssh"),
            "to-hook": ".git/hooks/pre-push",
            "innocent.txt": ".ENV",
            "to-proc": "/proc/self",
            "to-environ": "/proc/self/environ",
            "to-zero": "/dev/zero",
        }

    def mounts(self) -> list[str]:
        """What a world has to be begun with in which secrets are mounted into the workspace."""
        pairs = ((self.person / ".ssh", self.work / "mounted-keys"), (self.own, self.work / "mounted-own"))
        for outside, inside in pairs:
            outside.mkdir(parents=True, exist_ok=True)
            inside.mkdir(parents=True)
        return [word for outside, inside in pairs for word in ("--bind", str(outside), str(inside))]

    def changed(self) -> list[str]:
        """Everything that an attack has written, wherever it lies; our own records of what was said are none."""
        files = [
            path
            for folder in (self.work.parent, self.person)
            for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink() and not path.is_relative_to(self.own)
        ]
        return [str(path) for path in files if MARK.encode() in path.read_bytes()]
