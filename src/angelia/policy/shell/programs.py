"""Programs that are risky by their name, their subcommand or an option: one table."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.policy.shell.risk import Finding, Risk
from angelia.policy.shell.words import HOLE, Word, names


class Rule(Struct, frozen=True):
    """One row. With `verbs` or `flags`, one of them must be there; none of `unless` may be.

    A verb is one of the first three operands. A one-letter flag is also found in a bundle (`-xf`).
    """

    programs: frozenset[str]
    risk: Risk
    reason: str
    verbs: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()


def _rule(programs: str, risk: Risk, reason: str, *, verbs: str = "", flags: str = "", unless: str = "") -> Rule:
    return Rule(names(programs), risk, reason, names(verbs), names(flags), names(unless))


_RULES: tuple[Rule, ...] = (
    _rule("sudo doas su pkexec runuser gosu run0 sg newgrp", Risk.ESCALATES, "runs with another user's rights"),
    _rule("setcap chroot nsenter unshare visudo setpriv capsh", Risk.ESCALATES, "changes the rights programs run with"),
    _rule("docker podman nerdctl", Risk.ESCALATES, "gives a container the machine's own rights",
          flags="--privileged --pid=host --net=host --network=host --cap-add --device"),
    _rule("spctl csrutil tccutil", Risk.ESCALATES, "changes the system's protections"),
    _rule("setenforce aa-disable aa-teardown", Risk.ESCALATES, "changes the system's protections"),
    _rule("angelia", Risk.ESCALATES, "changes what angelia itself may do", verbs="config grants delete trust skills"),
    _rule("mkswap fdisk sfdisk gdisk sgdisk parted wipefs blkdiscard cryptsetup losetup lvremove vgremove pvremove "
          "mdadm zpool zfs hdparm badblocks debugfs diskutil", Risk.SYSTEM, "changes disks"),
    _rule("mkfs newfs", Risk.SYSTEM, "makes a new file system over what is there"),
    _rule("shutdown reboot poweroff halt telinit kexec", Risk.SYSTEM, "stops the machine"),
    _rule("init", Risk.SYSTEM, "stops the machine", verbs="0 1 6"),
    _rule("systemctl", Risk.SYSTEM, "stops the machine", verbs="poweroff reboot halt kexec suspend hibernate rescue"),
    _rule("insmod modprobe rmmod depmod dkms", Risk.SYSTEM, "changes the kernel"),
    _rule("sysctl", Risk.SYSTEM, "changes the kernel's settings", flags="-w --write -p --load"),
    _rule("mount umount swapoff swapon", Risk.SYSTEM, "changes what is mounted"),
    _rule("iptables ip6tables nft ufw firewall-cmd pfctl ipset", Risk.SYSTEM, "changes the firewall"),
    _rule("ip ifconfig route nmcli networksetup", Risk.SYSTEM, "changes the network",
          verbs="add del delete set down flush up"),
    _rule("grub-install update-grub grub-mkconfig efibootmgr bootctl bcdedit nvram", Risk.SYSTEM,
          "changes how it boots"),
    _rule("useradd userdel usermod groupadd groupdel groupmod passwd chpasswd chage adduser deluser chsh dscl gpasswd",
          Risk.SYSTEM, "changes accounts"),
    _rule("date hwclock timedatectl", Risk.SYSTEM, "sets the clock", flags="-s --set", verbs="set-time set-ntp"),
    _rule("crontab", Risk.PERSISTS, "changes what runs on a timer", unless="-l"),
    _rule("at batch", Risk.PERSISTS, "runs something later", unless="-l"),
    _rule("systemctl service rc-service rc-update update-rc.d chkconfig launchctl initctl sv", Risk.PERSISTS,
          "changes services", unless="status list-units list-unit-files show is-active is-enabled cat list print"),
    _rule("loginctl", Risk.PERSISTS, "changes what runs without a login", verbs="enable-linger"),
    _rule("systemd-run", Risk.PERSISTS, "runs outside this session"),
    _rule("ssh-copy-id ssh-add", Risk.PERSISTS, "gives a key access"),
    _rule("git", Risk.PERSISTS, "changes Git's settings for every repository", flags="--global --system"),
    _rule("npm yarn pnpm pip pip3", Risk.PERSISTS, "changes a package manager's settings", verbs="config",
          unless="get list ls"),
    _rule("apt apt-get aptitude dnf yum microdnf zypper pacman apk brew port snap flatpak emerge xbps-install nix-env "
          "pkg opkg choco scoop winget conda mamba", Risk.INSTALLS, "installs or removes packages",
          unless="list search show info policy -Q -Ss -Qi depends rdepends outdated --version deps"),
    _rule("pip pip3 pipx uv gem bundle composer cpan cpanm luarocks poetry pdm rye hatch cabal stack opam mix",
          Risk.INSTALLS, "installs packages", verbs="install add sync update upgrade require i get uninstall remove"),
    _rule("npm pnpm yarn bun", Risk.INSTALLS, "installs packages, whose scripts run",
          verbs="install i ci add update upgrade dlx create init isntall up"),
    _rule("cargo go rustup deno dotnet krew gh", Risk.INSTALLS, "installs packages or tools",
          verbs="install get extension toolchain plugin"),
    _rule("dpkg rpm", Risk.INSTALLS, "installs packages", flags="-i -U -e -r -P --install --upgrade --erase --remove"),
    _rule("npx bunx uvx pnpx", Risk.RUNS_UNSEEN, "fetches a package and runs it", unless="--no-install --no --offline"),
    _rule("npm pnpm yarn bun", Risk.RUNS_UNSEEN, "fetches a package and runs it", verbs="dlx x"),
    _rule("pipx", Risk.RUNS_UNSEEN, "fetches a package and runs it", verbs="run"),
    _rule("kill pkill killall killall5 xkill skill snice slay taskkill", Risk.KILLS, "ends processes", unless="-l -L"),
    _rule("fuser", Risk.KILLS, "ends processes", flags="-k --kill"),
    _rule("tmux screen", Risk.KILLS, "ends sessions", verbs="kill-server kill-session quit"),
    _rule("docker podman nerdctl", Risk.KILLS, "stops containers", verbs="kill stop down restart"),
    _rule("docker podman nerdctl", Risk.DESTROYS, "removes containers, images or volumes", verbs="rm rmi prune remove"),
    _rule("docker-compose", Risk.DESTROYS, "removes containers and volumes", flags="-v --volumes"),
    _rule("nc ncat netcat socat telnet ftp lftp tftp sftp", Risk.SENDS_OUT, "opens a connection to another machine"),
    _rule("ssh mosh rlogin rsh autossh", Risk.SENDS_OUT, "runs something on another machine", unless="-V"),
    _rule("scp croc wormhole magic-wormhole ffsend transfer rclone", Risk.SENDS_OUT, "copies files to another machine"),
    _rule("mail mailx sendmail mutt msmtp swaks", Risk.SENDS_OUT, "sends mail"),
    _rule("ngrok cloudflared localtunnel lt bore frpc tailscale chisel", Risk.SENDS_OUT, "opens a way in from outside"),
    _rule("git", Risk.SENDS_OUT, "pushes to another machine", verbs="push send-email"),
    _rule("gh glab hub tea", Risk.SENDS_OUT, "changes something at the code host", unless="--version"
          " status view list diff checks --help",
          verbs="pr issue repo gist release api secret workflow run variable mr ssh-key gpg-key"),
    _rule("aws gcloud gsutil az oci doctl s3cmd b2 mc ibmcloud heroku fly flyctl vercel netlify firebase supabase "
          "wrangler kubectl oc helm terraform tofu pulumi ansible ansible-playbook eksctl", Risk.SENDS_OUT,
          "changes something in a cloud or cluster",
          unless="get describe list ls plan version --version validate fmt template lint show logs"),
    _rule("npm pnpm yarn cargo gem twine poetry uv hatch flit mvn docker podman vsce", Risk.SENDS_OUT, "publishes",
          verbs="publish push upload deploy unpublish deprecate yank"),
    _rule("twine", Risk.SENDS_OUT, "publishes"),
    _rule("wget", Risk.SENDS_OUT, "sends data to another machine",
          flags="--post-data --post-file --body-data --body-file --method"),
    _rule("http https xh httpie", Risk.SENDS_OUT, "sends data to another machine",
          verbs="POST PUT PATCH DELETE post put patch delete"),
    _rule("security", Risk.SECRETS, "reads the keychain",
          verbs="find-generic-password find-internet-password dump-keychain export"),
    _rule("pass secret-tool keyring op bw lpass vault gopass chamber sops age", Risk.SECRETS, "reads a password store",
          verbs="show lookup get read item kv search export ls find"),
    _rule("pass gopass", Risk.SECRETS, "reads a password store"),
    _rule("gpg gpg2", Risk.SECRETS, "exports secret keys", flags="--export-secret-keys --export-secret-subkeys"),
    _rule("gh glab", Risk.SECRETS, "prints a token", verbs="token", flags="--show-token"),
    _rule("aws gcloud az", Risk.SECRETS, "prints credentials",
          verbs="export-credentials print-access-token get-access-token print-identity-token get-session-token"),
    _rule("kubectl oc", Risk.SECRETS, "reads a cluster's secrets", verbs="secret secrets"),
    _rule("git", Risk.SECRETS, "prints stored passwords", verbs="credential credential-store credential-cache"),
    _rule("dropdb dropuser", Risk.DESTROYS, "deletes a database"),
    _rule("fallocate", Risk.EXHAUSTS, "may fill the disk", unless="-d -p --dig-holes --punch-hole"),
    _rule("stress stress-ng", Risk.EXHAUSTS, "loads the machine until it stands still"),
)  # fmt: skip

_MAKES_FILE_SYSTEMS = "mkfs."


def risks_of_program(program: str, rest: Sequence[Word], piece: str) -> list[Finding]:
    """What the table says about a program with these arguments."""
    if program.startswith(_MAKES_FILE_SYSTEMS):
        program = "mkfs"
    return [Finding(rule.risk, rule.reason, piece) for rule in _RULES if program in rule.programs and _fits(rule, rest)]


def operands_of(rest: Sequence[Word]) -> list[Word]:
    """The words that are not options; all of them after `--`."""
    plain: list[Word] = []
    for at, word in enumerate(rest):
        if word.text == "--":
            return plain + list(rest[at + 1 :])
        if not word.text.startswith("-") or word.text == "-":
            plain.append(word)
    return plain


def has_flag(rest: Sequence[Word], flags: frozenset[str]) -> bool:
    """Whether an option is given: alone, with `=value`, or as a letter in a bundle.

    >>> has_flag([Word("-xfd", "-xfd")], names("-f --force"))
    True
    """
    letters = {flag[1] for flag in flags if len(flag) == 2}
    for word in rest:
        text = word.text
        if text == "--":
            return False
        if text in flags or text.partition("=")[0] in flags:
            return True
        if text[:1] == "-" and text[:2] != "--" and len(text) > 2 and letters & set(text[1:].partition(HOLE)[0]):
            return True
    return False


def abbreviates(rest: Sequence[Word], flags: frozenset[str]) -> bool:
    """Whether a long option is given, also shortened as GNU's and Git's own reading of options allows.

    >>> abbreviates([Word("--remove-f", "")], names("--remove-files"))
    True
    """
    given = [word.text.partition("=")[0] for word in rest if word.text.startswith("--")]
    return any(len(text) > 4 and flag.startswith(text) for text in given for flag in flags)


def _fits(rule: Rule, rest: Sequence[Word]) -> bool:
    if any(word.text in rule.unless for word in rest):
        return False
    if not rule.verbs and not rule.flags:
        return True
    verbs = [word.text for word in operands_of(rest)[:3]]
    return any(verb in rule.verbs for verb in verbs) or (bool(rule.flags) and has_flag(rest, rule.flags))
