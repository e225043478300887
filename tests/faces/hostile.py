"""Text that a terminal would obey: forty sequences, each with a letter before and behind it."""

SEQUENCES = {
    "clipboard (OSC 52), BEL": "\x1b]52;c;cHduZWQ=\x07",
    "clipboard (OSC 52), ST": "\x1b]52;c;cHduZWQ=\x1b\\",
    "title (OSC 0)": "\x1b]0;owned\x07",
    "title (OSC 2)": "\x1b]2;owned\x1b\\",
    "link (OSC 8)": "\x1b]8;;http://evil.example\x1b\\safe\x1b]8;;\x1b\\",
    "palette (OSC 4)": "\x1b]4;1;#000000\x07",
    "folder (OSC 7)": "\x1b]7;file:///etc\x07",
    "notification (OSC 9)": "\x1b]9;owned\x07",
    "iTerm2 (OSC 1337)": "\x1b]1337;SetMark\x07",
    "shell marks (OSC 133)": "\x1b]133;D;0\x07",
    "an OSC without an end": "\x1b]0;never",
    "clear (CSI 2J)": "\x1b[2J",
    "erase line (CSI 2K)": "\x1b[2K",
    "cursor to (CSI H)": "\x1b[99;98H",
    "cursor up (CSI A)": "\x1b[97A",
    "colour (SGR)": "\x1b[31;47m",
    "concealed (SGR 8)": "\x1b[8m",
    "scroll region (DECSTBM)": "\x1b[3;5r",
    "other screen (DECSET 1049)": "\x1b[?1049h",
    "mouse (DECSET 1003)": "\x1b[?1003h",
    "no cursor (DECTCEM)": "\x1b[?25l",
    "report (DSR)": "\x1b[6n",
    "answerback (DA)": "\x1b[>c",
    "window (XTWINOPS)": "\x1b[21t",
    "soft reset (DECSTR)": "\x1b[!p",
    "a CSI without an end": "\x1b[38;5;",
    "reset (RIS)": "\x1bc",
    "charset (SCS)": "\x1b(0",
    "save and restore": "\x1b7\x1b8",
    "device control (DCS)": "\x1bP$q\x1b\\",
    "application (APC)": "\x1b_Gf=100;AAAA\x1b\\",
    "privacy (PM)": "\x1b^owned\x1b\\",
    "string (SOS)": "\x1bXowned\x1b\\",
    "an 8-bit CSI": "\x9b2J",
    "an 8-bit OSC": "\x9d0;owned\x9c",
    "an 8-bit DCS, APC, PM, SOS": "\x90q\x9c\x9fG\x9c\x9eo\x9c\x98s\x9c",
    "next line (NEL)": "\x85",
    "backspaces": "\x08\x08\x08\x08",
    "bell, vertical tab, form feed": "\x07\x0b\x0c",
    "shift out": "\x0e",
    "delete": "\x7f",
    "right to left (RLO)": "\u202egpj\u202c",
    "an isolate (RLI)": "\u2067txt\u2069",
    "nothing to see": "\u200b\u2060\ufeff\u00ad",
    "tags": "\U000e0041\U000e0042",
    "line and paragraph": "\u2028\u2029",
}

HOSTILE = "".join(f"q{sequence}z" for sequence in SEQUENCES.values())
"""All of them."""


def obeyed(shown: str) -> list[str]:
    """What of it a terminal would still obey, or a person not see; ends of lines and tabs aside."""
    hidden = set("\u00ad\u200b\u2060\ufeff\u2028\u2029\u202c\u202e\u2067\u2069")
    return [
        f"U+{ord(one):04X}"
        for one in shown
        if (one < " " and one not in "\r\n\t") or "\x7f" <= one <= "\x9f" or one in hidden or one >= "\U000e0000"
    ]
