"""What the channels can do, printed from the tables that they send by."""

from angelia.channels import capability_tables
from angelia.channels.registry import OURS, find_channel
from docs.markdown import page, table


def channels() -> str:
    """Every channel side by side, and each by itself with methods, limits and reasons."""
    tables = {name: capability_tables.table_of(find_channel(name, {})) for name in OURS}
    return page(
        "Channels",
        "What each chat network can do, as the channels have it. A size is the largest file that goes by the network's "
        "own method; a larger one goes as the next plainer kind that takes it, else as a link where there is one, "
        "else it fails and says so. Limits of one's own server or of a boosted chat may be higher; "
        "a group has less where its network says so: no drafts in Telegram's, no buttons in WhatsApp's.",
        "## What goes out",
        table(("kind", *tables), capability_tables.sending(tables)),
        "## What comes in",
        table(("kind", *tables), capability_tables.hearing(tables)),
        "## What holds for every message",
        table(("", *tables), capability_tables.bounds(tables)),
        *(
            f"## {name}\n\n{table(('what', 'how'), capability_tables.particulars(capabilities))}"
            for name, capabilities in tables.items()
        ),
    )
