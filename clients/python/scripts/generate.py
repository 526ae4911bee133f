"""Makes `keyturn._gen` of the proto files: messages and their types, below a package of its own."""

from __future__ import annotations

import re
import shutil
import sys
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

FILES = ("keyturn/v1/coordinator.proto", "keyturn/v1/admin.proto", "keyturn/v1/leader.proto")
# The top-level package that protoc writes into imports would be ours in every process; this one is ours alone.
IMPORTS = re.compile(r"^from keyturn\.v1 import", re.MULTILINE)
# protoc lets its code work with its own version of protobuf and newer ones alone. What it generates of these files is a
# descriptor, which all versions since 4 read: applications that are bound to one of those can use this package too. The tests
# of the package run with the lowest.
VERSION_CHECK = re.compile(
    r"^from google\.protobuf import runtime_version as _runtime_version\n|"
    r"^_runtime_version\.ValidateProtobufRuntimeVersion\([^)]*\)\n",
    re.MULTILINE,
)


def generate(root: Path) -> None:
    """Write `src/keyturn/_gen` anew. `root`: the folder of pyproject.toml."""
    from grpc_tools import protoc

    proto = next((p for p in (root / "proto", root / "../../proto") if (p / FILES[0]).is_file()), None)
    if proto is None:
        raise SystemExit(f"{FILES[0]} is neither in {root / 'proto'} nor in {root / '../../proto'}")
    with TemporaryDirectory() as scratch:
        with resources.as_file(resources.files("grpc_tools") / "_proto") as well_known:
            includes = [f"-I{proto}", f"-I{well_known}"]
            code = protoc.main(["protoc", *includes, f"--python_out={scratch}", f"--pyi_out={scratch}", *FILES])
        if code != 0:
            raise SystemExit(f"protoc ended with {code}")
        replace(root / "src/keyturn/_gen", Path(scratch) / "keyturn/v1")


def replace(target: Path, made: Path) -> None:
    """Put what was made into its place, with imports that name this place."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "__init__.py").write_text('"""Generated from proto/, never edited."""\n')
    for source in sorted(made.iterdir()):
        code = VERSION_CHECK.sub("", IMPORTS.sub("from keyturn._gen import", source.read_text()))
        if "_runtime_version" in code:
            raise SystemExit(f"{source.name}: protoc checks its version in another way than this script knows")
        (target / source.name).write_text(code)


if __name__ == "__main__":
    generate(Path(__file__).resolve().parent.parent)
    sys.exit(0)
