"""Who may stand on whom: the rooms of the package, from the ground up, and no circle of files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import keyturn

ROOT = Path(keyturn.__file__).parent

# A room imports from further down and from itself; rooms on one floor do not know each other. What a room is for stands in the
# first line of its `__init__.py`.
FLOORS: list[dict[str, str]] = [
    {"_gen": "Generated from proto/, never edited."},
    {"words": "The words of the contract as types: what is asked of a sidecar and what it answers."},
    {
        "errors": "What a refused or failed call looks like to those who use the client.",
        "views": "What `client.admin` shows of a sidecar, as plain objects.",
    },
    {"_words": "The words: what is asked and answered, checked, and as the wire has it."},
    {
        "_connection": "The connection to a sidecar, and a call on it as a future.",
        "_tracing": "Spans of OpenTelemetry, where its API is installed.",
    },
    {"_session/turns": "Turns that are held: renewed in time, and told of when they are lost."},
    {"_session": "Carries calls and keeps turns alive: over one stream at a time, or each call by itself."},
    {"_produce/spool": "Items on disk: what was confirmed outlives the process, in order."},
    {
        "_consume": "Work under turns: scoped turns, consumers and what their handlers say.",
        "_lead": "Careers of leaders: candidacies on one stream, and the worker that is inaugurated, executes and hands over.",
        "_produce": "Handing items over: submitting, results, producers and their way over the disk.",
    },
    {"_aio": "The client on its event loop."},
    {"aio": "The client for asyncio."},
    {"_sync": "The client for threads: that of asyncio, whose loop runs in a thread of its own."},
    {"": "The client of Keyturn, the sidecar that gives every key its turn."},
]
FLOOR_OF = {room: at for at, rooms in enumerate(FLOORS) for room in rooms}


def module_of(file: Path) -> str:
    return ".".join(("keyturn", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


FILES = {module_of(file): file for file in ROOT.rglob("*.py")}


def room_of(module: str) -> str:
    file = FILES[module].relative_to(ROOT)
    return "/".join(file.parts[:-1]) or module.partition(".")[2]


def imports_of(module: str) -> Iterator[str]:
    """Those for types alone included."""
    for node in ast.walk(ast.parse(FILES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module in FILES:
            below = [f"{node.module}.{one.name}" for one in node.names]
            modules = [one for one in below if one in FILES]
            yield from modules
            if len(modules) < len(below):
                yield node.module


def test_a_room_imports_from_further_down() -> None:
    uphill = [
        f"{module} may not import {other}"
        for module in FILES
        for other in imports_of(module)
        if room_of(other) != room_of(module) and FLOOR_OF[room_of(other)] >= FLOOR_OF[room_of(module)]
    ]
    assert not uphill


def test_no_files_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter({module: set(imports_of(module)) for module in FILES}).prepare()
    except CycleError as circle:
        raise AssertionError(" imports ".join(reversed(circle.args[1]))) from None


def test_each_room_says_what_it_is_for() -> None:
    said: dict[str, str] = {}
    for room in FLOOR_OF:
        file = FILES[".".join(("keyturn", *filter(None, room.split("/"))))]
        said[room] = (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n")[0]
    assert said == {room: rule for rooms in FLOORS for room, rule in rooms.items()}
