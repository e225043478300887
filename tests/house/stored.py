"""Rules about reading what is stored: one damaged entry hides no other."""

from tests.house.boundaries import OURS, Found
from tests.house.sources import Rule, Source, calls


def decoding(source: Source) -> Found:
    """Entries that are read without a word about those that cannot be."""
    for name, call in calls(source.tree):
        if name == "codec.decode":
            yield source.place, source.at(call)


RULES = [
    Rule(
        "lists read entries by what goes past a damaged one",
        OURS,
        decoding,
        "Use `at_places` of store/log/examined.py: it gives each entry, or why it cannot be read.",
        ("src/angelia/store/tables/x.py", "from angelia.core import codec\ncodec.decode(b'')"),
        {
            "store/log/examined.py": "it is the one",
            "store/log/follow.py": "gives what cannot be read as such",
            "store/log/projections.py": "names what cannot be read, and goes past it",
            "store/log/word_index.py": "nobody finds what nobody can read",
            "store/sql/salvage.py": "lists what cannot be read",
            "store/log/transcript.py": "one reply that was kept, asked for again where it cannot be read",
            "store/log/chain.py": "the first entry of one log, whose reader is told",
            "store/log/entries_of_kinds.py": "of one log, whose reader is told",
            "store/log/fork.py": "of one log, whose fork is refused",
            "store/log/repeats.py": "of one log, to which nothing is imported then",
            "store/log/rewrite.py": "of one log, which is not written anew then",
            "store/tables/grants.py": "of one log, in which the yes is not stored then",
        },
    ),
]
