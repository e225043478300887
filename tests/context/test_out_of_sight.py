"""What a summary stands for is not looked at again, and that changes nothing in what is seen."""

from random import Random

from angelia.context.compaction import safe_cuts
from angelia.context.view import View, _Fold, advance, project
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.profile import Ability, Profile
from angelia.testing.logs.random_logs import log_from

PROFILE = Profile("scripted:m", "scripted", "m", "openai-chat", images=Ability.YES)
LOGS = 1_500


def folded_in_full(log: list[e.Entry]) -> View:
    """The view under the last move, with every entry looked at."""
    move = log[-1]
    assert isinstance(move.fact, e.ViewMoved)
    fold = _Fold(View(PROFILE, generation=move.seq, moved=move.fact))
    for entry in log:
        fold.step(entry)
    return fold.done(move.seq)


def a_fold(random: Random, log: list[e.Entry]) -> e.ViewMoved:
    """A move that folds up to some safe cut and keeps some people's messages before it."""
    cut = random.choice(safe_cuts(log))
    said = [entry.seq for entry in log if isinstance(entry.fact, e.UserSaid) and entry.seq < cut]
    return e.ViewMoved(reason="test", keep_from=cut, kept=tuple(sorted(random.sample(said, min(len(said), 2)))))


def test_entries_before_the_cut_leave_nothing_behind() -> None:
    random = Random(21)
    compared = 0
    for _ in range(LOGS):
        log = [x for x in log_from(random.randbytes(random.randrange(60, 400))) if not isinstance(x.fact, e.ViewMoved)]
        log = [e.Entry(seq, x.at, x.fact) for seq, x in enumerate(log, 1)]
        if not safe_cuts(log):
            continue
        log.append(e.Entry(len(log) + 1, 0, a_fold(random, log)))
        seen, full = project(log, PROFILE), folded_in_full(log)
        assert (seen.messages, seen.sizes, seen.unheard) == (full.messages, full.sizes, full.unheard)
        compared += 1
    assert compared > LOGS // 2


def test_what_looks_the_same_after_a_move_has_the_size_it_had() -> None:
    random = Random(22)
    for _ in range(LOGS // 3):
        log = log_from(random.randbytes(random.randrange(60, 400)))
        before = project(log, PROFILE)
        log.append(e.Entry(len(log) + 1, 0, e.ViewMoved(reason="test", flat_before=random.randrange(len(log) + 1))))
        assert advance(before, log).sizes == project(log, PROFILE).sizes


def test_a_message_that_became_another_one_is_measured_again() -> None:
    said = e.Entry(2, 0, e.UserSaid((Text("short"),)))
    log = [
        e.Entry(1, 0, e.ConversationOpened("terminal", "/w")),
        said,
        e.Entry(3, 0, e.ModelAsked("scripted:m", 1, (2,))),
    ]
    before = project(log, PROFILE)
    assert advance(before, log).sizes == before.sizes
    longer = e.Entry(2, 0, e.UserSaid((Text("much longer " * 50),)))
    moved = e.Entry(4, 0, e.ViewMoved(reason="test"))
    assert advance(before, [log[0], longer, log[2], moved]).sizes[0].tokens > before.sizes[0].tokens
