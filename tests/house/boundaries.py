"""Rules about what code may touch: processes, the database, the clock, the screen, and start-up time."""

import ast
import re
from collections.abc import Iterator

from tests.house.sources import Rule, Source, calls, dotted, imports, nodes

OURS = ("src",)
ALL = ("src", "tests", "bench")
LOOKING_OUTSIDE = (
    "src/angelia/skills",
    "src/angelia/sandboxes/guard",
    "src/angelia/service/conversation",
    "src/angelia/service/delegation",
    "src/angelia/service/hooks",
    "src/angelia/service/notes",
    "src/angelia/service/skills",
    "src/angelia/faces/words",
)
"""What looks at folders that people work in."""

Found = Iterator[tuple[str, str]]


def uses(source: Source) -> Iterator[tuple[str, ast.AST]]:
    """Every dotted name that is called or imported, anywhere in the file."""
    yield from calls(source.tree)
    yield from imports(source.tree, only_when_loaded=False)


def swallowed_failure(source: Source) -> Found:
    """Failures that are caught, whatever they are, and dropped."""
    for node in nodes(source.tree):
        if isinstance(node, ast.ExceptHandler) and _catches_all(node.type) and all(map(_idle, node.body)):
            yield source.place, source.at(node)
    for name, call in calls(source.tree):
        if name.endswith("suppress") and any(map(_catches_all, call.args)):
            yield source.place, source.at(call)


def _catches_all(caught: ast.expr | None) -> bool:
    return caught is None or dotted(caught) in ("Exception", "BaseException")


def _idle(one: ast.stmt) -> bool:
    return isinstance(one, ast.Pass | ast.Continue) or (
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and one.value.value is ...
    )


BROAD = ("AngeliaError", "StoreError", "ChannelError", "Exception", "BaseException")
"""Errors of which one may take the place of a cancellation, whatever is awaited."""


WAITS = ("sleep", "wait", "get")
"""What is awaited and cannot fail."""


def lost_cancellation(source: Source) -> Found:
    """Loops that go on after an error, or without an end, and do not look whether they are to end."""
    for _, function in source.functions():
        if isinstance(function, ast.AsyncFunctionDef):
            for loop in [node for node in nodes(function) if isinstance(node, ast.While)]:
                looks = any(called == "end_if_cancelled" for called, _ in calls(loop))
                if not looks and (_is_endless(loop) or any(map(_goes_on, nodes(loop)))):
                    yield source.place, source.at(loop)


def _is_endless(loop: ast.While) -> bool:
    """Whether it ends by an error alone; whoever asks a generator for more ends it, too."""
    inner = [one for statement in loop.body for one in nodes(statement)]
    ends = any(isinstance(one, ast.Return | ast.Break | ast.Yield) for one in inner)
    awaited = [one.value for one in inner if isinstance(one, ast.Await)]
    can_fail = any(dotted(one.func).split(".")[-1] not in WAITS for one in awaited if isinstance(one, ast.Call))
    return isinstance(loop.test, ast.Constant) and not ends and can_fail


def _goes_on(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        told = [call for item in node.items for name, call in calls(item.context_expr) if name.endswith("suppress")]
        awaits = any(isinstance(one, ast.Await) for one in nodes(node))
        return awaits and any(dotted(kind) in BROAD for call in told for kind in call.args)
    if not isinstance(node, ast.ExceptHandler):
        return False
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    ends = isinstance(node.body[-1], ast.Raise | ast.Return | ast.Break)
    return not ends and any(kind is None or dotted(kind) in BROAD for kind in kinds)


PRINTING = re.compile(
    r"print|pprint\..*|traceback\.print_.*|sys\.(__)?std(out|err)(__)?|sys\.(display|except)hook"
    r"|click\.(echo|secho|echo_via_pager|prompt|confirm|pause|clear|progressbar|utils\..*|termui\..*)"
    r"|rich\.(print.*|get_console|console\.Console)|prompt_toolkit\.(print_formatted_text|shortcuts\.print.*)"
)
ASKING = {"isatty", "fileno", "flush", "encoding"}
"""What may be asked of a standard stream by anybody."""


def printing(source: Source) -> Found:
    """Whatever shows something on the terminal, or is handed to what does."""
    every = nodes(source.tree)
    asked = {id(node.value) for node in every if isinstance(node, ast.Attribute) and node.attr in ASKING}
    named = [(dotted(node), node) for node in every if isinstance(node, ast.Name | ast.Attribute)]
    for name, node in (*named, *imports(source.tree, only_when_loaded=False)):
        if PRINTING.fullmatch(name) and id(node) not in asked:
            yield source.place, f"{source.at(node)} {name}"


def painting(source: Source) -> Found:
    """Whatever says of a text that its escape sequences are ours."""
    yield from ((source.place, source.at(call)) for name, call in calls(source.tree) if name.endswith("Painted"))


def sleeping(source: Source) -> Found:
    """Sleep that blocks the thread."""
    yield from ((source.place, source.at(node)) for name, node in uses(source) if name == "time.sleep")


HEAVY = {
    "PIL",
    "anthropic",
    "av",
    "click",
    "faster_whisper",
    "genai_prices",
    "html_to_markdown",
    "httpx2",
    "hypothesis",
    "jsonschema",
    "markdown_it",
    "modal",
    "mcp",
    "mcp_types",
    "openai",
    "piper",
    "prompt_toolkit",
    "pydantic",
    "pydantic_ai",
    "pypdfium2",
    "rich",
    "tree_sitter",
    "tree_sitter_bash",
    "websockets",
    "xllamacpp",
}
"""What costs start-up time."""


def heavy_import(source: Source) -> Found:
    """Heavy parts that are imported as soon as the module is."""
    for name, node in imports(source.tree, only_when_loaded=True):
        if (heavy := name.partition(".")[0]) in HEAVY:
            yield f"{heavy} in {source.place}", f"{source.at(node)} imports {name}"


RAISING = {"exists", "is_file", "is_dir", "is_symlink"}


def raising_look(source: Source) -> Found:
    """`Path.exists` and its like: with arguments it is a directory entry's method, which was read already."""
    for node in nodes(source.tree):
        asked = isinstance(node, ast.Call) and not (node.args or node.keywords) and node.func
        if isinstance(asked, ast.Attribute) and asked.attr in RAISING:
            yield source.place, f"{source.at(node)} .{asked.attr}()"


def module_run(source: Source) -> Found:
    """A Python that is to run a module, and looks for it first where it is begun."""
    for node in nodes(source.tree):
        words = node.elts if isinstance(node, ast.Tuple | ast.List) else node.args if isinstance(node, ast.Call) else ()
        said = [one.value if isinstance(one, ast.Constant) else None for one in words]
        if "-m" in said[:-1] and not {"-P", "-I"} & set(said[: said.index("-m")]):
            yield source.place, source.at(node)


STARTING = re.compile(
    r"(subprocess|pty|multiprocessing)(\.|$)|asyncio\.create_subprocess_"
    r"|os\.(fork|exec|spawn|popen|system|posix_spawn)"
)


def starting(source: Source) -> Found:
    """Whatever can start a process."""
    for name, node in uses(source):
        if STARTING.match(name):
            yield source.place, f"{source.at(node)} {name}"


BEGUN = re.compile(r"subprocess\.(Popen|run|call|check_\w+)|asyncio\.(subprocess\.)?create_subprocess_\w+")


def begun_anywhere(source: Source) -> Found:
    """A program that is begun without saying where: where Angelia was, which is a folder in which a model works."""
    for name, call in calls(source.tree):
        if BEGUN.fullmatch(name) and not any(one.arg == "cwd" for one in call.keywords):
            yield source.place, f"{source.at(call)} {name}"


LASTING = re.compile(r"(tempfile\.)?(TemporaryDirectory|mkdtemp|NamedTemporaryFile|mkstemp)")


def lasting_temporary(source: Source) -> Found:
    """A temporary file or folder that has a name, and so stays where whoever made it is killed."""
    for name, call in calls(source.tree):
        if LASTING.fullmatch(name):
            yield source.place, f"{source.at(call)} {name}"


def opening(source: Source) -> Found:
    """Whatever opens a database."""
    yield from ((source.place, source.at(call)) for name, call in calls(source.tree) if name == "sqlite3.connect")


PURE = ("core/", "context/", "policy/", "engine/machine.py", "engine/remedies.py", "engine/state.py")
IMPURE = ("asyncio", "httpx2", "os", "pathlib.Path", "random", "socket", "sqlite3", "subprocess", "threading", "time")


def impure(source: Source) -> Found:
    """Clocks, files, networks and event loops in what is to be pure."""
    if not source.place.startswith(PURE):
        return
    for name, node in imports(source.tree, only_when_loaded=False):
        if any(name == one or name.startswith(f"{one}.") for one in IMPURE):
            yield source.place, f"{source.at(node)} imports {name}"


_ASKED = {"question", "whole", "pattern"}
"""Texts of an `ApprovalAsked` that only `core.asked` reads for people; a condition on one shows nothing."""


def raw_question(source: Source) -> Found:
    """Texts of a question that a door takes as they stand, rather than as `shown_question` makes them safe."""
    tests = [one.test for one in nodes(source.tree) if isinstance(one, ast.If | ast.IfExp)]
    tests += [one.guard for one in nodes(source.tree) if isinstance(one, ast.match_case) and one.guard]
    conditions = {id(node) for test in tests for node in ast.walk(test)}
    for node in nodes(source.tree):
        read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in conditions
        if read and isinstance(node, ast.Attribute) and node.attr in _ASKED and dotted(node.value) in ("asked", "fact"):
            yield source.place, source.at(node)
        if isinstance(node, ast.MatchClass) and dotted(node.cls).endswith("ApprovalAsked") and node.kwd_attrs:
            yield source.place, source.at(node)


def locator(source: Source) -> Found:
    """Whoever names `App` besides the composition root and the doors; Modal has a class of the same name."""
    for name, node in imports(source.tree, only_when_loaded=False):
        if name == "angelia.service.app" or name.startswith("angelia.service.app."):
            yield source.place, source.at(node)


def foreign_private(source: Source) -> Found:
    """Names with an underscore of somebody else's: they are gone with any release. (Ruff looks at attributes.)"""
    for name, node in imports(source.tree, only_when_loaded=False):
        root, *rest = name.split(".")
        if root not in (*ALL, "angelia", "docs") and any(re.match("_[a-z]", one) for one in rest):
            yield source.place, f"{source.at(node)} {name}"


RULES = [
    Rule(
        "no name with an underscore of somebody else's",
        ALL,
        foreign_private,
        "Use what the library promises; where it has no name for a type, a protocol of ours says what is needed.",
        ("src/angelia/x.py", "from somebodys.client._transport import Stream"),
    ),
    Rule(
        "only doors know the composition root",
        OURS,
        locator,
        "Take what you need as an argument: a value with few fields, or a function. `App` makes it.",
        ("src/angelia/service/x.py", "if TYPE_CHECKING:\n  from angelia.service.app import App"),
        {"faces/": "doors open a home and hand its parts on"},
    ),
    Rule(
        "a loop without an end, or that goes on after an error, ends when it is cancelled",
        OURS,
        lost_cancellation,
        "Call `end_if_cancelled()` in it, before it pauses: an error of what cleans up may take the place of that.",
        ("src/angelia/x.py", "async def f():\n  while True:\n    try: await g()\n    except StoreError: log()"),
        {
            "tools/mcp/connection.py": "ends by an event of its own, which is looked at each time",
            "testing/": "lives as long as a test",
            "service/batches/check_worker.py": "ends with the program, which is ended",
        },
    ),
    Rule(
        "a door shows a question by `shown_question` alone",
        ("src/angelia/faces", "src/angelia/service", "src/angelia/channels"),
        raw_question,
        "Take what `core.asked.shown_question` gives: whole, and with a sign for everything that hides.",
        ("src/angelia/faces/x.py", "print(asked.question)"),
    ),
    Rule(
        "what anybody may have laid out is looked at without raising",
        LOOKING_OUTSIDE,
        raising_look,
        "Ask `path_queries`: a folder that is closed to us, or a link to a name that is too long, ends nothing then.",
        ("src/angelia/skills/x.py", "Path(name).is_dir()"),
        {
            "sandboxes/guard/fingerprint.py": "entries of a folder that was read, none of them a link",
            "sandboxes/guard/originals.py": "what lies in our own home",
            "sandboxes/guard/quarantine.py": "what lies in our own home",
        },
    ),
    Rule(
        "no failure is swallowed",
        ALL,
        swallowed_failure,
        "Catch only what you can mend, by its name; let the rest be heard.",
        ("src/angelia/core/x.py", "try:\n  f()\nexcept Exception:\n  pass"),
    ),
    Rule(
        "one module writes to the terminal",
        OURS,
        printing,
        "Within the command line use faces/words/output.py; elsewhere return a value, or log it.",
        ("src/angelia/faces/cli/x.py", "import sys\nsys.stdout.buffer.write(b'here')"),
        {
            "faces/words/output.py": "it is the one",
            "faces/cli/terminal.py": "hands a person's own terminal to a shell of theirs, byte by byte",
            "faces/words/paint.py": "asks what stdout is",
            "faces/words/markdown.py": "lets rich write Markdown into a string",
            "faces/cli/chat/frame_output.py": "prompt_toolkit draws the prompt there, a frame at a time",
            "faces/cli/transfer_progress.py": "rich draws a bar with the file's visible name, on output's canvas",
            "models/speech/whisper.py": "a process of its own, whose output is read by us",
            "models/speakers/piper_worker.py": "a process of its own, whose output is read by us",
            "testing/": "the kit has commands of its own",
        },
    ),
    Rule(
        "escape sequences are made in few places",
        OURS,
        painting,
        "Give `echo` the text, or let `Paint` colour it: whoever says Painted answers for every character in it.",
        ("src/angelia/faces/cli/x.py", "draw(Painted(name))"),
        {
            "faces/words/output.py": "it clears a line",
            "faces/words/paint.py": "makes text visible, then colours it",
            "faces/cli/pictures.py": "encodes pictures in Base64 or sixels",
            "faces/cli/doctor.py": "puts visible words beside a coloured mark",
            "faces/cli/chat/screen.py": "puts painted lines below each other",
            "faces/gateway/foreground.py": "moves up over its own table, whose cells are visible",
        },
    ),
    Rule(
        "nobody sleeps on the thread",
        ALL,
        sleeping,
        "Wait for what you are waiting for: an event, a condition, the end of a pipe.",
        ("tests/x.py", "import time\ntime.sleep(1)"),
    ),
    Rule(
        "heavy parts are imported where they are used",
        OURS,
        heavy_import,
        "Import it inside the function that needs it, or list the file here if it is itself loaded late.",
        ("src/angelia/store/x.py", "try:\n  from PIL import Image\nexcept ImportError: ..."),
        {
            "click in faces/cli/": "it is the command line",
            "hypothesis in testing/logs/strategies.py": "the one module of the kit that is about hypothesis",
            "pydantic_ai in models/pydantic_ai/parts.py": "the bridge loads it with its first request",
            "jsonschema in tools/mcp/forms.py": "loaded when a server asks a person",
            "mcp in tools/mcp/core_tasks.py": "loaded in a thread, with the first server that is reached",
            "mcp_types in tools/mcp/core_tasks.py": "loaded in a thread, with the first server that is reached",
            "mcp in tools/mcp/library_errors.py": "loaded in a thread, with the first server that is reached",
            "mcp_types in tools/mcp/library_errors.py": "loaded in a thread, with the first server that is reached",
            "mcp in tools/mcp/tasks.py": "loaded in a thread, with the first server that is reached",
            "mcp_types in tools/mcp/tasks.py": "loaded in a thread, with the first server that is reached",
            "pydantic in tools/mcp/tasks.py": "loaded in a thread, with the first server that is reached",
            "mcp_types in tools/mcp/elicitation.py": "loaded when a server asks a person",
            "jsonschema in tools/mcp/client.py": "loaded in a thread, with the first server that is reached",
            "websockets in browsers/chromium/websocket.py": "its module is loaded for a browser that runs elsewhere",
            "websockets in channels/discord/socket.py": "its module is loaded when a channel of its kind is opened",
            "websockets in channels/slack/socket.py": "its module is loaded when a channel of its kind is opened",
            "mcp in tools/mcp/client.py": "loaded in a thread, with the first server that is reached",
            "mcp_types in tools/mcp/client.py": "loaded in a thread, with the first server that is reached",
            "pydantic in tools/mcp/client.py": "loaded in a thread, with the first server that is reached",
            "httpx2 in http/transport.py": "loaded when the first client is made",
            "httpx2 in tools/web/searcher.py": "loaded with the first search",
            "mcp in tools/mcp/skills.py": "loaded in a thread, with the first server that is reached",
            "mcp_types in tools/mcp/skills.py": "loaded in a thread, with the first server that is reached",
            "pydantic in tools/mcp/skills.py": "loaded in a thread, with the first server that is reached",
            "mcp in faces/mcp/ask_tasks.py": "loaded in a thread, when a program is served",
            "mcp_types in faces/mcp/ask_tasks.py": "loaded in a thread, when a program is served",
            "mcp in faces/mcp/core_ask_tasks.py": "loaded in a thread, when a program is served",
            "mcp_types in faces/mcp/core_ask_tasks.py": "loaded in a thread, when a program is served",
            "mcp in faces/mcp/results.py": "loaded in a thread, when a program is served",
            "mcp_types in faces/mcp/results.py": "loaded in a thread, when a program is served",
            "mcp in faces/mcp/served_skills.py": "loaded in a thread, when a program is served",
            "mcp_types in faces/mcp/served_skills.py": "loaded in a thread, when a program is served",
            "mcp in faces/mcp/server.py": "loaded in a thread, when a program is served",
            "mcp_types in faces/mcp/server.py": "loaded in a thread, when a program is served",
            "httpx2 in tools/mcp/oauth.py": "loaded in a thread, with the first login",
            "mcp in tools/mcp/oauth.py": "loaded in a thread, with the first login",
            "pydantic in tools/mcp/oauth.py": "loaded in a thread, with the first login",
            "httpx2 in tools/mcp/answer_size.py": "loaded with web.py",
            "mcp in tools/mcp/changes.py": "loaded with client.py",
            "mcp_types in tools/mcp/changes.py": "likewise",
            "httpx2 in tools/mcp/kept_stream.py": "loaded with web.py",
            "httpx2 in tools/mcp/site_answers.py": "likewise",
            "mcp_types in tools/mcp/site_answers.py": "likewise",
            "httpx2 in tools/mcp/sse_events.py": "likewise",
            "httpx2 in tools/mcp/refused_posts.py": "loaded with web.py",
            "mcp in tools/mcp/refused_posts.py": "likewise",
            "mcp_types in tools/mcp/refused_posts.py": "likewise",
            "httpx2 in tools/mcp/standalone_stream.py": "loaded with web.py",
            "mcp in tools/mcp/standalone_stream.py": "likewise",
            "httpx2 in tools/mcp/web.py": "loaded in a thread, with the first site that is reached",
            "mcp in tools/mcp/web.py": "loaded in a thread, with the first site that is reached",
            "prompt_toolkit in faces/cli/chat/completion.py": "the conversation loads it with its prompt",
            "prompt_toolkit in faces/cli/chat/drawn_rows.py": "the conversation loads it with its prompt",
            "prompt_toolkit in faces/cli/chat/frame_output.py": "the conversation loads it with its prompt",
            "rich in faces/words/markdown.py": "it is loaded with the first reply that is rendered",
            "markdown_it in faces/words/markdown.py": "it is loaded with the first reply that is rendered",
            "markdown_it in faces/words/reply_stream.py": "the conversation loads it after its prompt",
            "prompt_toolkit in faces/cli/chat/output_view.py": "it is loaded when an output is looked at",
            "prompt_toolkit in faces/cli/chat/prompt.py": "the conversation loads it with its prompt",
        },
    ),
    Rule(
        "no Python of ours takes modules from where it is begun",
        OURS,
        module_run,
        "Say -P: it is begun in a folder in which a model works, whose `json.py` would run outside of every wall.",
        ("src/angelia/models/x.py", "import sys\nwords = (sys.executable, '-m', 'angelia.models.y')"),
    ),
    Rule(
        "whoever starts a program says where it begins",
        OURS,
        begun_anywhere,
        "Give it a cwd: `beginning.py` says which. In a model's folder programs run what they find there.",
        ("src/angelia/models/x.py", "import asyncio\nasyncio.create_subprocess_exec('node', 'x.js')"),
        {"testing/": "the kit begins where the test does"},
    ),
    Rule(
        "only modules that may start processes",
        OURS,
        starting,
        "There is one broker: let the sandbox run it. What runs outside of it begins by `TiedProgram`, to end with us.",
        ("src/angelia/tools/x.py", "import asyncio\nasyncio.create_subprocess_shell('ls')"),
        {
            "sandboxes/": "running commands is what sandboxes do",
            "browsers/chromium/": "a browser is a process, behind its wall",
            "models/catalog/credentials.py": "a key may come from a command that the owner configured",
            "tied_program.py": "a program that the owner configured, or that comes with the system, and ends with us",
            "store/media/processes.py": "what strangers sent is opened in a process of its own, with limits",
            "service/batches/check_process.py": "a person's check of a task's work may hang or die, apart from us",
            "channels/whatsapp/bridge/process.py": "the bridge is a process of Node, which ends with its input",
            "faces/cli/other_programs.py": "services, updates: what a person would type is run for them",
            "testing/": "the kit runs servers and whole programs",
        },
    ),
    Rule(
        "what is temporary goes also if its maker is killed",
        OURS,
        lasting_temporary,
        "Use `HeldFolder`, which the next one or the daily upkeep takes away, or a file without a name.",
        ("src/angelia/faces/x.py", "import tempfile\nwith tempfile.TemporaryDirectory() as folder: ..."),
        {
            "held_folder.py": "it is the one",
            "service/settings/private_file.py": "beside what it takes the place of",
            "sandboxes/undo/supervision.py": "in a folder of ours, from which goes what is old",
            "testing/": "the kit leaves folders of tests to look at",
        },
    ),
    Rule(
        "one module opens the database",
        OURS,
        opening,
        "Two ways to open it are two sets of settings: use store/sql/connections.py.",
        ("src/angelia/store/x.py", "import sqlite3\nsqlite3.connect('x')"),
        {
            "store/sql/connections.py": "it is the one",
        },
    ),
    Rule(
        "what is pure has no clock, no files, no network and no event loop",
        OURS,
        impure,
        "Take it as an argument; the caller has it.",
        ("src/angelia/context/x.py", "def f():\n  from time import time"),
        {"core/ids.py": "offers the clock and the randomness that everybody else is handed"},
    ),
]
