"""Skills are held to the standard: the reference validator and ours agree, and ours says where."""

import random
from pathlib import Path

import pytest
from skills_ref import validate

from angelia.skills.front_matter import read_front_matter
from angelia.skills.skill import read_skill
from angelia.skills.standard import allowed_tools

FOLDERS = 500

NAMES = [
    *(
        "tea",
        "pdf-forms",
        "a",
        "1-2",
        "x" * 64,
        "x" * 65,
        "Tea",
        "tea-",
        "-tea",
        "te--a",
        "te a",
        "te_a",
        "té",
        "чай",
        "茶",
    ),
    *("te.a", "TEA", "ﬁle", "ß", "tea\u200b", "İ"),
]
WRITTEN = [
    "name: {0}",
    'name: "{0}"',
    "name: '{0}'",
    "name:   {0}  ",
    "name: >-\n  {0}",
    "name: |\n  {0}",
    "name: {0} # tea",
]
DESCRIPTIONS = [
    *(
        "description: Makes tea.",
        'description: "Makes: tea."',
        "description: Makes: tea.",
        "description:",
        "description: ''",
    ),
    *(
        "description: >\n  Makes\n  tea.\n\n  Often.",
        "description: |\n  Makes tea.\n    Often.",
        "description: Makes tea,\n  often.",
    ),
    *(
        f"description: {'x' * 1024}",
        f"description: {'x' * 1025}",
        "description: [tea]",
        "description: '  '",
    ),
    *("description:\n  - Makes tea.", "description: # none", 'description: "Makes\n  tea."', "", "description: *tea"),
]
MORE = [
    *("", "", "", "license: MIT", "compatibility: Needs git", "compatibility: " + "x" * 501, "compatibility:\n  - git"),
    *('metadata:\n  author: me\n  version: "1.0"', "metadata:\n  a:\n    b: c", "allowed-tools: Bash(git:*) Read"),
    *("allowed-tools:\n  - Bash(git:*)\n  - Read", "allowed-tools: [Read]", "version: 2", "model: opus\nhooks: x"),
    *(
        "license: MIT\nlicense: MIT",
        "metadata: {a: b}",
        "  odd: indent",
        "# a note",
        "compatibility: ''",
        "license: &a MIT",
    ),
]
BODIES = ["\n# Tea\n\nBoil water.\n", "", "\n---\n\nAfter a rule.\n", "\n```\ncode\n```\n"]


def generated(folder: Path, seed: int) -> Path:
    """A folder that is or is not a skill, the same for the same seed."""
    chance = random.Random(seed)
    usual = chance.random() < 0.8
    name = chance.choice(NAMES[:4] if usual else NAMES)
    here = folder / (chance.choice(["other", name.lower(), "tea"]) if chance.random() < 0.1 else name)
    here.mkdir(parents=True)
    rows = [
        chance.choice(WRITTEN).format(name) if chance.random() < 0.96 else "",
        DESCRIPTIONS[0] if usual and chance.random() < 0.6 else chance.choice(DESCRIPTIONS),
        chance.choice(MORE) if chance.random() < 0.6 else "",
        chance.choice(MORE) if chance.random() < 0.2 else "",
    ]
    if chance.random() < 0.2:
        chance.shuffle(rows)
    end = "\r\n" if chance.random() < 0.1 else "\n"
    first, last = (
        ("---\n", "---") if chance.random() < 0.95 else chance.choice([("", "---"), ("---\n", ""), ("--\n", "---")])
    )
    text = first + "".join(f"{row}\n" for row in rows if row) + last + chance.choice(BODIES)
    file = "SKILL.md" if chance.random() < 0.9 else chance.choice(["skill.md", "README.md"])
    (here / file).write_bytes(text.replace("\n", end).encode())
    if chance.random() < 0.3:
        (here / "scripts").mkdir()
        (here / "scripts" / "run.sh").write_text("echo tea\n")
    return here


def test_the_reference_and_ours_agree_on_five_hundred_folders(tmp_path: Path) -> None:
    good = 0
    for seed in range(FOLDERS):
        folder = generated(tmp_path / str(seed), seed)
        theirs = validate(folder)
        skill = read_skill(folder)
        ours = [one for one in skill.findings if one.refuses or "no field of the standard" in one.text]
        text = next(folder.glob("*.md")).read_text()
        assert bool(theirs) == bool(ours), f"{seed}: {theirs} {ours}\n{text}"
        good += not theirs
    assert 100 < good < 400, "both kinds are to be among them"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("---\nname: Tea\ndescription: x\n---\n", "SKILL.md:2", "capital letters"),
        ("---\nname: tea\n---\n", "SKILL.md:1", "there is no `description`"),
        ("---\nname: coffee\ndescription: x\n---\n", "SKILL.md:2", "the folder is called 'tea'"),
        ("---\nname: tea\n\ndescription: x\nversion: 2\n---\n", "SKILL.md:5", "no field of the standard"),
        ("---\nname: tea\ndescription: x\n---\nSee [a](references/a.md).\n", "SKILL.md:5", "is not there"),
        (
            "---\nname: tea\ndescription: x\n---\n\n[b](../../etc/passwd)\n",
            "SKILL.md:6",
            "leads out of",
        ),
        ("---\nname: te\u200ba\ndescription: x\n---\n", "SKILL.md:2", "U+200B"),
    ],
)
def test_a_finding_names_its_line(tmp_path: Path, text: str, place: str, words: str) -> None:
    (tmp_path / "tea").mkdir()
    (tmp_path / "tea" / "SKILL.md").write_text(text)
    [finding] = [one for one in read_skill(tmp_path / "tea").findings if words in one.text]
    assert finding.in_words().startswith(f"{place}: ")


def test_a_field_of_another_program_is_told_and_refuses_nothing(tmp_path: Path) -> None:
    (tmp_path / "tea").mkdir()
    (tmp_path / "tea" / "SKILL.md").write_text("---\nname: tea\ndescription: x\nversion: 2\n---\n")
    skill = read_skill(tmp_path / "tea")
    assert skill.findings
    assert skill.usable


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("allowed-tools: Bash(git diff:*) Read", ("Bash(git diff:*)", "Read")),
        ("allowed-tools: Bash(git:*), Read,Write", ("Bash(git:*)", "Read", "Write")),
        ("allowed-tools:\n- Bash(git diff:*)\n- Read", ("Bash(git diff:*)", "Read")),
        ("license: MIT", ()),
    ],
)
def test_the_tools_that_it_wants_are_read_in_each_way_of_writing_them(written: str, tools: tuple[str, ...]) -> None:
    assert allowed_tools(read_front_matter(f"---\nname: x\n{written}\n---\n")) == tools
