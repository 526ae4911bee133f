"""What a newcomer does: builds the wheel, installs it in an empty environment, and runs the first worker of the readme.

Once with the newest packages that it allows, once with the lowest.

.venv/bin/python -m tests.newcomer
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import keyturn
from tests.sidecar import Sidecar

FOLDER = Path(__file__).resolve().parent.parent
README_ADDRESS = "127.0.0.1:7420"


def main() -> None:
    with TemporaryDirectory() as scratch:
        empty = Path(scratch)
        wheel = build(empty / "wheel")
        check_contents(wheel)
        python = install(wheel, empty / "venv")
        sidecar = Sidecar()
        try:
            run_worker(python, sidecar.address, empty)
            install_as_the_readme_says(python)
            install_lowest(python)
            run_worker(python, sidecar.address, empty)
        finally:
            sidecar.kill()
    print(f"{wheel.name}: built, installed, and its first worker has done an order")


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(FOLDER)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def check_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("keyturn/py.typed", "keyturn/_gen/coordinator_pb2.py", "keyturn/_gen/coordinator_pb2.pyi"):
        if needed not in names:
            raise SystemExit(f"{wheel.name} lacks {needed}")
    strange = [name for name in names if not name.startswith(("keyturn/", "keyturn-"))]
    if strange:
        raise SystemExit(f"{wheel.name} has more than its own package: {strange}")


def install(wheel: Path, folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin/python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", str(wheel)], check=True)
    subprocess.run([*pip, "check"], check=True)
    return python


def install_as_the_readme_says(python: Path) -> None:
    """In a clone, with everything that the build needs fetched by pip."""
    found = re.search(r"```sh\npython (-m pip install .*?)\n```", (FOLDER / "README.md").read_text())
    if found is None:
        raise SystemExit("the readme does not say how to install")
    command = [str(python), *found[1].split(), "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"]
    subprocess.run(command, check=True, cwd=FOLDER.parent.parent)


def install_lowest(python: Path) -> None:
    """Of what the package depends on. grpcio is left: the lowest has no wheels for newer Pythons."""
    said = re.search(r"^dependencies = \[(.*)\]$", (FOLDER / "pyproject.toml").read_text(), re.MULTILINE)
    lowest = re.findall(r'"(protobuf|googleapis-common-protos)>=([\d.]+),', said[1] if said else "")
    if len(lowest) != 2:
        raise SystemExit("pyproject.toml does not say what the package depends on")
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", *(f"{name}=={version}" for name, version in lowest)], check=True)
    subprocess.run([*pip, "check"], check=True)


def run_worker(python: Path, address: str, folder: Path) -> None:
    found = re.search(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    if found is None or README_ADDRESS not in found[1]:
        raise SystemExit("the readme has no first worker")
    (folder / "worker.py").write_text(found[1].replace(README_ADDRESS, address))
    command = [str(python), "-u", "worker.py"]
    worker = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with keyturn.connect(address) as client:
            submitted = client.submit("orders", keyturn.NewItem(b"one", key="ada"))
            client.result("orders", submitted.item_id, timeout=30)
        worker.send_signal(signal.SIGINT)
        printed, log = worker.communicate(timeout=30)
    finally:
        worker.kill()
    if printed != "ada b'one'\n" or "KeyboardInterrupt" not in log:
        raise SystemExit(f"the worker printed {printed!r}, and on stderr {log!r}")


if __name__ == "__main__":
    main()
