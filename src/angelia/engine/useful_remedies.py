"""Which remedies would change a request that was refused: identical bytes would be refused again; pure."""

from angelia.context import compaction
from angelia.context.compaction import CompactionInput
from angelia.context.view import advance
from angelia.core import entry as e
from angelia.core.failure import Failure
from angelia.engine.remedies import CHANGES_REQUEST, Remedy, Table
from angelia.engine.repairs import seen_otherwise


def useful_remedies(failure: Failure, ground: CompactionInput, table: Table) -> frozenset[Remedy]:
    """The remedies of this failure after which the next request is another one."""
    kind = failure.kind
    rows = [table[kind], *([table[other]] if (other := table[kind].otherwise) else [])]
    tried = {remedy for row in rows for remedy, most in row.remedies if most and remedy in CHANGES_REQUEST}
    return frozenset(remedy for remedy in tried if _changes(remedy, ground))


def _changes(remedy: Remedy, ground: CompactionInput) -> bool:
    match remedy:
        case Remedy.COMPACT | Remedy.COMPACT_HARDER:
            move = compaction.light(ground)
            cut = compaction.fold_at(ground, move)
            folded = compaction.outlined(ground, move, cut) if cut else move
            return _differs(ground, compaction.pressed(ground, folded))
        case (
            Remedy.AGE_MEDIA
            | Remedy.SHORTEN_RESULTS
            | Remedy.SMALLER_RENDITION
            | Remedy.DROP_NATIVE
            | Remedy.FLATTEN_CALLS
        ):
            facts = seen_otherwise(remedy, ground.log, ground.profile)
            return any(_differs(ground, fact) for fact in facts if isinstance(fact, e.ViewMoved))
        case _:
            return True


def _differs(ground: CompactionInput, moved: e.ViewMoved) -> bool:
    seq = ground.log[-1].seq + 1
    under = advance(ground.now, [*ground.log, e.Entry(seq, 0, moved)])
    return under.messages != ground.now.messages
