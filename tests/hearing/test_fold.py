"""What transcripts do to a turn and to a view, as a table."""

from angelia.context.outline import outline
from angelia.context.request import Role
from angelia.context.summary import transcript
from angelia.context.view import project
from angelia.core import entry as e
from angelia.core.content import Media, MediaKind, Text
from angelia.core.principal import OWNER
from angelia.core.profile import Ability, Profile
from angelia.engine import machine as m
from angelia.engine.state import Turn, advance
from angelia.store.log.word_index import findable
from angelia.testing.logs.playbook import asked, blob, closed, log, reply, said
from tests.engine.simulated import RULES, Simulated

DEAF = Profile("scripted:m", "scripted", "m", "anthropic", audio=Ability.NO)
NOTE = Media(blob("note", mime="audio/ogg"), MediaKind.VOICE, "note.ogg")


def heard(seq: int, text: str, part: int = 1) -> e.Transcribed:
    """A transcript."""
    return e.Transcribed(seq, "scribe", (e.Spoken(part, text),))


def words(entries: list[e.Entry]) -> list[str]:
    """The person's messages as the model reads them."""
    messages = project(entries, DEAF).messages
    return ["\n".join(p.text for p in one.parts if isinstance(p, Text)) for one in messages if one.role is Role.USER]


def test_a_transcript_stands_right_behind_its_recording() -> None:
    entries = log(said("Listen:", NOTE, "Thanks."), heard(2, "Buy milk."), asked)
    [told] = words(entries)
    assert [told.index(part) for part in ("Listen:", "its content", "Buy milk.", "Thanks.")] == sorted(
        told.index(part) for part in ("Listen:", "its content", "Buy milk.", "Thanks.")
    )


def test_one_that_comes_after_its_message_was_shown_is_a_note_and_changes_nothing_before_it() -> None:
    entries = log(said("Listen:", NOTE), reply("Hm."), closed())
    before = project(entries, DEAF).messages
    more = log(*(entry.fact for entry in entries), heard(2, "Buy milk."), said("Well?"), asked)
    after = project(more, DEAF).messages
    assert after[: len(before)] == before
    assert sum("Buy milk." in told for told in words(more)) == 1


def test_what_was_said_outlives_a_fold_in_words() -> None:
    entries = log(said("Listen:", NOTE), heard(2, "Buy milk."), reply("Done."), closed())
    assert "Buy milk." in transcript(entries, 1, 99)
    assert "Buy milk." in outline(entries, 1, 99)
    assert findable(heard(2, "Buy milk.")) == "Buy milk."


def test_a_recording_that_ends_every_process_is_given_up_after_three_tries() -> None:
    simulated = Simulated()
    simulated.add(e.UserSaid((NOTE,)))
    effects = []
    while True:
        effect = m.decide(simulated.turn, RULES, m.Moment(simulated.now, unheard=tuple(simulated.turn.recordings)))
        effects.append(type(effect).__name__)
        if not isinstance(effect, m.Transcribe | m.LeaveUnheard):
            break
        simulated.listen(effect)
    assert effects == ["Transcribe"] * 3 + ["LeaveUnheard", "AskModel"]


def test_a_recording_that_waits_outlives_its_turn() -> None:
    begun = (said(NOTE), e.TranscriptAsked(2, "scribe"), e.CancelAsked(OWNER), closed())
    assert advance(Turn(), log(*begun)).recordings == {2: 1}
    assert advance(Turn(), log(*begun, heard(2, "Hi", 0))).recordings == {}
