"""Which files a command would empty or overwrite, so that somebody can look whether there is anything to lose."""

from angelia.policy.path_location import PathLocation, absolute, place_of
from angelia.policy.shell.classifier import classify
from angelia.policy.shell.parser import read_line
from angelia.policy.shell.risk import CommandContext, Risk

_MOST = 8


def files_emptied(command: str, context: CommandContext) -> tuple[str, ...]:
    """The paths in the workspace that a command names, if it is one simple command that would empty some of them.

    What is not there then stands in `CommandContext.absent`. In a longer line a file may come into being before that.

    >>> context = CommandContext("/w", "/home/me")
    >>> lines = ": > new.txt", "cat a.txt", "mv a b; : > b"
    >>> tuple(files_emptied(line, context) for line in lines)
    (('/w/new.txt',), (), ())
    """
    line = read_line(command, {"HOME": context.home})
    if not line.single or not any(found.risk is Risk.TRUNCATES for found in classify(command, context)):
        return ()
    call = line.calls[0]
    words = [*(redirect.target for redirect in call.redirects), *call.words[1:]]
    named = [word.text.removeprefix("of=") for word in words if word.literal]
    inside = [absolute(text, context) for text in named if text and place_of(text, context) is PathLocation.INSIDE]
    return tuple(dict.fromkeys(inside))[:_MOST]
