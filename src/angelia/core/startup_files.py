"""What decides which programs run later: the one list of start-up files that tools, classifier and mounts share.

Paths are relative to a home, with `/`; a folder stands for all that it holds. Who may write one of these runs programs
as the person, at their next shell, login, editor or `git status`. Sources are the programs' own manuals (bash(1),
zsh(1), pam_env(8), systemd.unit(5), the Desktop Application Autostart Specification, sshd(8), git-config(1),
site.html of Python, npmrc(5), launchd.plist(5)).
"""

STARTUP_EVERYWHERE: tuple[str, ...] = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *(".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login"),
    *(".inputrc", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".xserverrc", ".pam_environment"),
    *(".gitconfig", ".vimrc", ".envrc", ".forward", ".procmailrc"),
    *(".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/git", ".config/nvim"),
    *(".ssh/authorized_keys", ".ssh/authorized_keys2", ".ssh/config", ".ssh/rc", ".ssh/environment"),
    *("Library/LaunchAgents", "Library/LaunchDaemons"),
)
"""What counts wherever it lies: a folder of dotfiles that is linked into a home is not seen to be one."""

STARTUP_IN_HOME: tuple[str, ...] = (
    # shells, sessions and desktops
    *(".zfunc", ".oh-my-zsh", ".oh-my-bash", ".config/zsh", ".config/nushell", ".config/xonsh", ".xonshrc"),
    *(".config/starship.toml", ".config/direnv", ".config/mise", ".asdfrc", ".tmux.conf", ".config/tmux", ".screenrc"),
    *(".config/plasma-workspace", ".config/autostart-scripts", ".config/uwsm", ".config/sway", ".config/hypr"),
    *(".config/i3", ".i3", ".config/awesome", ".config/openbox", ".config/bspwm", ".config/sxhkd", ".xbindkeysrc"),
    *(".config/kitty", ".config/alacritty", ".config/wezterm", ".wezterm.lua", ".config/ghostty"),
    *(".local/share/systemd", ".local/share/dbus-1", ".local/share/applications", ".config/mimeapps.list", ".mailcap"),
    *(".local/bin", "bin", ".local/share/fish"),
    # editors
    *(".vim", ".gvimrc", ".exrc", ".nanorc", ".emacs", ".emacs.d", ".config/emacs", ".config/helix", ".config/zed"),
    *(".config/Code/User", ".config/Cursor/User", ".config/VSCodium/User", ".vscode", ".vscode-server", ".ideavimrc"),
    # languages and their packages
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".config/yarn", ".bunfig.toml", ".noderc"),
    *(".pip", ".config/pip", ".config/uv", ".pydistutils.cfg", ".condarc", ".pdbrc", ".pythonrc", ".pythonrc.py"),
    *(".local/lib", ".ipython", ".jupyter", ".config/matplotlib"),
    *(".cargo/config", ".cargo/config.toml", ".cargo/bin", ".cargo/env", ".rustup"),
    *(".gradle/init.gradle", ".gradle/init.d", ".m2/settings.xml", ".mavenrc", ".sbt", ".config/go/env"),
    *(".gemrc", ".irbrc", ".pryrc", ".bundle/config", ".perldb", ".perltidyrc", ".Rprofile", ".Renviron", ".ghci"),
    *(".gdbinit", ".config/gdb", ".lldbinit", ".octaverc", ".julia/config", ".luarocks", ".lua"),
    *(".pyenv", ".rbenv", ".nvm", ".asdf", ".volta", ".sdkman", ".deno", ".bun", ".nodenv", ".goenv", ".ghcup"),
    # other programs that are started for the person
    *(".hgrc", ".config/hg", ".config/jj", ".subversion", ".curlrc", ".wgetrc", ".psqlrc", ".sqliterc", ".mpdconf"),
    *(".gnupg/gpg-agent.conf", ".gnupg/gpg.conf", ".docker/cli-plugins", ".kube/config", ".aws/config"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".cursor", ".config/containers"),
)
"""What counts beneath a home only: a project has an `.npmrc`, a `bin` or a `.vscode` of its own."""

STARTUP_FILES: tuple[str, ...] = (*STARTUP_EVERYWHERE, *STARTUP_IN_HOME)
"""Everything beneath a home."""

STARTUP_OF_THE_SYSTEM: tuple[str, ...] = (
    *("/etc/cron", "/etc/profile", "/etc/rc", "/etc/init", "/etc/systemd", "/etc/ld.so", "/etc/environment"),
    *("/etc/bash", "/etc/zsh", "/etc/xdg", "/etc/anacrontab", "/etc/pam", "/etc/sudoers", "/etc/udev", "/etc/X11"),
    *("/etc/ssh", "/etc/gitconfig", "/etc/skel", "/etc/security", "/etc/modprobe", "/etc/modules"),
    *("/var/spool/cron", "/var/spool/at", "/usr/lib/systemd", "/lib/systemd", "/usr/share/dbus-1", "/run/systemd"),
    *("/Library/LaunchAgents", "/Library/LaunchDaemons"),
)
"""Beginnings of absolute paths: `/etc/cron` is `/etc/crontab` and `/etc/cron.d/…`."""
