"""The examples of the readme do what it says."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import keyturn

FOLDER = Path(__file__).resolve().parent.parent
README = (FOLDER / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", README, re.DOTALL)


def test_every_example_but_the_first_has_its_output() -> None:
    assert README.count("```python") == len(EXAMPLES) + 1


def test_the_examples_print_what_the_readme_says(own_sidecar: list[Any]) -> None:
    with keyturn.connect(own_sidecar[0].address) as client:
        names: dict[str, Any] = {"client": client, "keyturn": keyturn}
        for code, output in EXAMPLES:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, "README.md", "exec"), names)
            assert printed.getvalue() == output


def test_the_version_is_that_of_the_repository(repository: Path) -> None:
    version = json.loads((repository / "package.json").read_text())["version"]
    # No tomllib before Python 3.11.
    said = re.search(r'^version = "(.*)"$', (FOLDER / "pyproject.toml").read_text(), re.MULTILINE)
    assert (keyturn.__version__, said and said[1]) == (version, version)


@pytest.mark.parametrize("heading", re.findall(r"\]\(#([\w-]+)\)", README))
def test_links_within_the_readme_lead_somewhere(heading: str) -> None:
    headings = [
        re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in re.findall(r"^## (.*)$", README, re.M)
    ]
    assert heading in headings


def _exported() -> list[type]:
    found = [getattr(module, name) for module in (keyturn, keyturn.aio) for name in module.__all__]
    return [one for one in found if isinstance(one, type)]


@pytest.mark.parametrize("exported", _exported(), ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_the_documentation_has_all_of_a_class(exported: type) -> None:
    """What comes from a base that is not exported is documented only where the class names it itself."""
    hidden = [base for base in exported.__mro__ if "keyturn" in base.__module__ and base not in _exported()]
    inherited = {name for base in hidden for name in vars(base) if not name.startswith("_")}
    assert inherited <= set(vars(exported)) | set(exported.__annotations__)
