"""One run over a home of another agent: it accounts for each file, and goes on where the run before it ended.

Each thing is taken in a commit of its own, under an id that is the same in every run.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.counts import counted
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput
from angelia.core.text import one_line
from angelia.service.imports.account import FileVerdict, ImportAccount
from angelia.service.imports.old_home import HomeFile, OldHome, UnreadableFile, fits
from angelia.service.imports.port import (
    HomeRule,
    NotTaken,
    OldAgent,
    OldConversation,
    OldItem,
    OldKeys,
    OldNotes,
    OldSchedule,
    OldSubagent,
)
from angelia.service.imports.take_conversation import take_conversation
from angelia.service.imports.take_keys import take_keys
from angelia.service.imports.take_notes import take_notes
from angelia.service.imports.take_schedule import take_schedule
from angelia.service.imports.take_skills import SkillTaker
from angelia.service.imports.take_subagent import take_subagent
from angelia.service.imports.taking import ImportTarget, KnownItem, LeftItem, TakenFrom, TakenItem, TakingOutcome
from angelia.service.redaction import Redaction
from angelia.skills.folder import NAMES

_MOST_TOLD = 3
"""Reasons that are told of one file."""
_MOST_ITEMS = 100_000
_MOST_SECRETS = 2_000


class _RuledFile(Struct, frozen=True):
    """A file and the rule that fits it, which comes as the `order`-th; `profile` is the folder whose home it is of."""

    file: HomeFile
    order: int
    rule: HomeRule | None
    profile: str


class _FileTally:
    """What was done with the parts of one file."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._here = 0
        self._left: dict[str, int] = {}

    def add(self, outcome: TakingOutcome) -> None:
        match outcome:
            case TakenItem(what=what, count=count, messages=messages, pictures=pictures, left=left):
                for name, more in ((what, count), ("message", messages), ("picture", pictures)):
                    if more:
                        self._counts[name] = self._counts.get(name, 0) + more
                for why in left:
                    self.leave(why)
            case KnownItem():
                self._here += 1
            case LeftItem(why=why):
                self.leave(why)

    def leave(self, why: str) -> None:
        """A part was not taken."""
        self._left[why] = self._left.get(why, 0) + 1

    @property
    def verdict(self) -> FileVerdict:
        return FileVerdict.TAKEN if self._counts or self._here else FileVerdict.LEFT

    def in_words(self) -> str:
        """All of it.

        >>> tally = _FileTally()
        >>> tally.add(TakenItem("conversation", 2, 5)), tally.add(KnownItem()), tally.leave("too long")
        (None, None, None)
        >>> tally.in_words()
        '2 conversations, 5 messages; 1 was here already; not taken: too long'
        """
        taken = ", ".join(counted(count, what) for what, count in self._counts.items())
        here = f"{self._here:,} {'was' if self._here == 1 else 'were'} here already" if self._here else ""
        told = [why if count == 1 else f"{why} ({count:,} times)" for why, count in self._left.items()]
        more = [f"{len(told) - _MOST_TOLD:,} more reasons"] if len(told) > _MOST_TOLD else []
        left = f"not taken: {'; '.join([*told[:_MOST_TOLD], *more])}" if told else ""
        return "; ".join(part for part in (taken, here, left) if part) or "there is nothing in it"


class HomeImport:
    """See the module."""

    def __init__(self, agent: OldAgent, home: OldHome, target: ImportTarget) -> None:
        self._agent, self._home = agent, home
        self._secrets = frozenset[str]()
        self._hidden = Redaction(lambda: self._secrets)
        known = target.redact
        self._target = replace(target, redact=lambda text: self._hidden.text(known(text)))
        self._skills = SkillTaker(agent, home, self._target)
        self._account = ImportAccount()

    async def run(self, told: Callable[[str], None] = lambda path: None) -> ImportAccount:
        """Look at every file, and take what can be taken; `told` hears which one it is.

        Raises:
            BadInput: it is no home of this agent, or holds too many files.
            StoreError: ours cannot be written; what was taken by then is there.
        """
        files = [*self._home.files()]
        ruled = [self._ruled(file) for file in files]
        if not any(one.rule and one.rule.read and not one.file.why for one in ruled):
            raise BadInput(
                f"{self._home.path} does not look like a home of {self._agent.title}: of {counted(len(files), 'file')} "
                "none is one that it keeps something in.",
                then=f"Name the folder that was {self._agent.usual} in its person's home.",
            )
        skills = self._skill_folders(files)
        for one in sorted(ruled, key=lambda one: (one.order, one.file.path)):
            told(one.file.shown)
            inside = [str(folder) for folder in PurePosixPath(one.file.path).parents if str(folder) in skills]
            if one.file.why:
                verdict = FileVerdict.LEFT if one.file.known else FileVerdict.UNKNOWN
                self._account.note(one.file.shown, verdict, one.file.why)
            elif inside:
                self._account.note(one.file.shown, *await self._skills.take(inside[-1]))
            else:
                await self._look(one)
        self._account.unseen = self._skills.taken
        self._account.files.sort(key=lambda one: one.path)
        return self._account

    def _ruled(self, file: HomeFile) -> _RuledFile:
        path, profile = file.path, ""
        if self._agent.profiles and fits(f"{self._agent.profiles}/*/**", path):
            *folders, path = path.split("/", 2)
            profile = "/".join(folders)
        for order, rule in enumerate(self._agent.rules):
            if fits(rule.pattern, path):
                return _RuledFile(file, order, rule, profile)
        return _RuledFile(file, len(self._agent.rules), None, profile)

    def _skill_folders(self, files: Iterable[HomeFile]) -> set[str]:
        """The folders of skills: each holds its instructions, and lies where this agent keeps them."""
        profile = f"{self._agent.profiles}/*/" if self._agent.profiles else ""
        places = [f"{before}{place}/*" for place in self._agent.skills for before in dict.fromkeys(("", profile))]
        found = (PurePosixPath(file.path) for file in files if not file.why)
        folders = {str(path.parent) for path in found if path.name in NAMES and not path.parent.name.startswith(".")}
        return {folder for folder in folders if any(fits(place, folder) for place in places)}

    async def _look(self, one: _RuledFile) -> None:
        if one.rule is None:
            why = f"no version of {self._agent.title} that is known here has such a file"
            self._account.note(one.file.shown, FileVerdict.UNKNOWN, why)
            return
        if one.rule.read is None:
            self._account.note(one.file.shown, FileVerdict.LEFT, one.rule.what)
            return
        source = TakenFrom(self._agent.name, one.file.path, one.profile)
        tally = _FileTally()
        try:
            for number, item in enumerate(one.rule.read(self._home, one.file)):
                if number >= _MOST_ITEMS:
                    raise UnreadableFile(f"it holds more than {_MOST_ITEMS:,} things")
                if isinstance(item, OldKeys):
                    await self._keys(source, one.file, item)
                    return
                await self._take(source, item, tally)
                crash_point("import.item")
        except UnreadableFile as fault:
            tally.leave(fault.what)
            verdict = FileVerdict.TAKEN if tally.verdict is FileVerdict.TAKEN else FileVerdict.UNKNOWN
            self._account.note(one.file.shown, verdict, tally.in_words())
            return
        self._account.note(one.file.shown, tally.verdict, tally.in_words())

    async def _take(self, source: TakenFrom, item: OldItem, tally: _FileTally) -> None:
        match item:
            case OldConversation(left=left, person=person):
                outcome = await take_conversation(self._target, source, item)
                if isinstance(outcome, LeftItem) and person and person not in self._target.mine:
                    self._account.people.add(one_line(person, 80))
                    left = ()
                elif isinstance(outcome, TakenItem):
                    self._account.conversations += outcome.count
                for why in left:
                    tally.leave(why)
            case OldNotes():
                outcome = await take_notes(self._target, source, item, self._home.text(source.file))
                self._account.waiting += outcome.count if isinstance(outcome, TakenItem) else 0
            case OldSchedule(timer=timer):
                outcome = await take_schedule(self._target, source, item, self._home.now)
                if isinstance(outcome, TakenItem):
                    self._account.paused += 1
                    self._account.timers.append(one_line(timer, 120))
            case OldSubagent():
                outcome = await take_subagent(self._target, source, item)
                self._account.helpers += isinstance(outcome, TakenItem)
            case NotTaken(why=why):
                outcome = LeftItem(why)
            case OldKeys():
                raise AssertionError("keys are a file of their own")
        tally.add(outcome)

    async def _keys(self, source: TakenFrom, file: HomeFile, found: OldKeys) -> None:
        self._secrets |= frozenset(found.hidden[:_MOST_SECRETS])
        tally, handles = _FileTally(), list[str]()
        for handle, outcome in await take_keys(self._target, source, found):
            tally.add(outcome)
            if isinstance(outcome, TakenItem):
                handles.append(handle)
                crash_point("import.key")
        self._account.keys += handles
        if found.logins:
            tally.leave(f"logins, which two programs cannot share ({_listed(found.logins)})")
        words = tally.in_words() if found.keys or found.logins else "there is no key in it"
        self._account.note(file.shown, tally.verdict, f"{words} ({_listed(handles)})" if handles else words)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name, 100) for name in names[:10])
    return f"{shown} and {len(names) - 10:,} more" if len(names) > 10 else shown
