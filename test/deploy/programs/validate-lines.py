"""
The command `kubernetes-validate`, many times in one process: each line of standard input is the arguments of one command, as
JSON, and each line of standard output is the exit code and the output of that command.
"""

import contextlib
import functools
import io
import json
import sys

from kubernetes_validate import utils
from kubernetes_validate.__main__ import main

# Reading takes most of the time of a command. No command changes a schema, and none changes the file that it validates.
utils.schema_contents = functools.lru_cache(maxsize=None)(utils.schema_contents)
utils.resources_from_file = functools.lru_cache(maxsize=None)(utils.resources_from_file)


def run(args: list[str]) -> dict[str, object]:
    utils.resources_from_file.cache_clear()
    sys.argv = ["kubernetes-validate", *args]
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            code = main()
        except SystemExit as end:
            # A text is what Python would write before it ends with 1.
            code = end.code if isinstance(end.code, int) else 1
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
    return {"code": code, "stdout": stdout.getvalue(), "stderr": stderr.getvalue()}


for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
