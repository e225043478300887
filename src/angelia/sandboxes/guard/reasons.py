"""Why a file is taken back, or not written, by what it is; words behind a colon."""

from angelia.sandboxes.guard.autorun import AutorunKind

BECAUSE = {
    AutorunKind.CONFIG: "settings that make Git run programs or read other settings",
    AutorunKind.POINTER: "it leads Git out of the workspace",
    AutorunKind.COMMONDIR: "it leads Git to other settings",
    AutorunKind.ATTRIBUTES: "it makes Git run a driver",
    AutorunKind.REMOTE: "it makes Git run a helper",
    AutorunKind.HOOK: "Git would run it as a hook",
    AutorunKind.SCRIPT: "programs run it or obey it as soon as the folder is entered or opened",
    AutorunKind.PROGRAM: "settings of the repository name it as a program to be run",
    AutorunKind.HGRC: "settings that make Mercurial run programs",
    AutorunKind.LINK: "it leads to where commands write and nobody looks",
    AutorunKind.TODO: "Git would run it as the next step of a rebase",
    AutorunKind.STRATEGY: "Git would run a program of that name to go on with what is unfinished",
    AutorunKind.PIPE: "it is no file, and who enters the folder would wait for it for ever",
    AutorunKind.VENV: "it stands in for a program once the environment is used",
    AutorunKind.HOME: "Python would take its library from the workspace",
    AutorunKind.DOTENV: "a shell that sources it on entering the folder would do more than assign words",
    AutorunKind.SETTINGS: "editors or agents start what it names once the folder is opened",
    AutorunKind.TOLD: "",
}
SAYS_WHICH = (AutorunKind.CONFIG, AutorunKind.DOTENV, AutorunKind.SETTINGS)
"""Of these the entry is said, too."""
