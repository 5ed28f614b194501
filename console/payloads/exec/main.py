"""The operator's program as `__main__`: its source and its arguments come as data."""

from __future__ import annotations

import base64
import linecache
import os
import sys
import traceback
import types
from typing import Any


def main(config: dict[str, Any]) -> int:
    """`config`: source (base64 of the file's bytes), argv (the program's name, then its arguments).

    The program's standard input is at its end. Its exit code is passed on; an uncaught exception prints the
    program's own frames and gives 1, as Python does.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    source = base64.b64decode(config["source"])
    name = config["argv"][0]
    sys.argv[:] = config["argv"]
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    lines = source.decode("utf-8", "replace").splitlines(True)
    linecache.cache[name] = (len(source), None, lines, name)  # so that a traceback shows the program's lines
    try:
        exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        trace = error.__traceback__
        traceback.print_exception(type(error), error, trace.tb_next if trace else None)
        return 1
    return 0
