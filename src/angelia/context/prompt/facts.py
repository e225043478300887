"""What the system prompt is made of: the facts of one turn, from which every section takes its own."""

from msgspec import Struct


class NoFolderFile(Struct, frozen=True, tag=True):
    """There is no file of instructions, or such files are switched off."""


class TrustedFile(Struct, frozen=True, tag=True):
    """A file whose very bytes the person trusts. `version` is their SHA-256 in hex; `text` is as it is shown."""

    path: str
    text: str
    version: str


class UntrustedFile(Struct, frozen=True, tag=True):
    """A file that nobody has trusted as it stands now: it is data.

    `changed`: another version of it was trusted. `declined`: the person was asked about this one, and said no. `hidden`
    is how many of its characters are not seen, and stand in `text` as numbers.
    """

    path: str
    text: str
    version: str
    changed: bool = False
    declined: bool = False
    hidden: int = 0


class UnusableFile(Struct, frozen=True, tag=True):
    """A file that cannot be used at all, whoever trusts it; `why` goes on after “is not used:”."""

    path: str
    why: str


FolderFile = NoFolderFile | TrustedFile | UntrustedFile | UnusableFile
"""The file of instructions that a folder has: `AGENTS.md`, or `CLAUDE.md` where there is none."""


class ToolsetInstructions(Struct, frozen=True):
    """What a toolset says of its tools; `name` is the toolset's."""

    name: str
    text: str


class ShownNote(Struct, frozen=True):
    """A note as the prompt shows it; `scope` and `what` are values of `NoteScope` and `NoteKind`, `day` YYYY-MM-DD."""

    number: int
    scope: str
    what: str
    text: str
    day: str


class OfferedSkill(Struct, frozen=True):
    """A skill that the model may take: its name, and what it is for."""

    name: str
    description: str


class OfferedSkills(Struct, frozen=True):
    """Those that the prompt names, in order of their names, and how many it does not: nobody has used them for long."""

    listed: tuple[OfferedSkill, ...] = ()
    unused: int = 0


class PromptFacts(Struct, frozen=True):
    """What the prompt tells. `today` is the day the conversation was opened, as YYYY-MM-DD.

    `standing` are the person's own instructions from the settings, `folder` those of the folder it works in,
    `tools` those of toolsets. `noted` are the notes that count here and have room, `noted_elsewhere` is how many have
    none. `skills` are those that the person has seen.
    """

    workspace: str
    system: str
    today: str
    network: str
    notes: tuple[str, ...] = ()
    standing: str = ""
    folder: FolderFile = NoFolderFile()
    tools: tuple[ToolsetInstructions, ...] = ()
    noted: tuple[ShownNote, ...] = ()
    noted_elsewhere: int = 0
    skills: OfferedSkills = OfferedSkills()
