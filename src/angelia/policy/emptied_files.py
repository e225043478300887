"""Which files a command would empty or overwrite, so that somebody can look whether there is anything to lose."""

from angelia.policy.commands import classify
from angelia.policy.place import Place, absolute, place_of
from angelia.policy.risk import Ground, Risk
from angelia.policy.shell_line import read_line

_MOST = 8


def files_emptied(command: str, ground: Ground) -> tuple[str, ...]:
    """The paths in the workspace that a command names, if it is one simple command that would empty some of them.

    What is not there then stands in `Ground.absent`. In a longer line a file may come into being before it is emptied.

    >>> ground = Ground("/w", "/home/me")
    >>> files_emptied(": > new.txt", ground), files_emptied("cat a.txt", ground), files_emptied("mv a b; : > b", ground)
    (('/w/new.txt',), (), ())
    """
    line = read_line(command, {"HOME": ground.home})
    if not line.single or not any(found.risk is Risk.TRUNCATES for found in classify(command, ground)):
        return ()
    call = line.calls[0]
    words = [*(redirect.target for redirect in call.redirects), *call.words[1:]]
    named = [word.text.removeprefix("of=") for word in words if word.literal]
    inside = [absolute(text, ground) for text in named if text and place_of(text, ground) is Place.INSIDE]
    return tuple(dict.fromkeys(inside))[:_MOST]
