"""What the place where the tests are started must not change in them: ignored signals, umask, variables."""

from __future__ import annotations

import os
import signal

_OWN = ("GPUDECK_REQUIRE", "GPUDECK_KEEP_FRAMES", "GPUDECK_FAULT_LOG", "GPUDECK_REAL_")
_FOREIGN = ("GPUDECK_", "XDG_", "HF_", "HUGGING", "SGLANG_", "CUDA_", "NCCL_", "TEXTUAL", "SSH_", "TMUX", "LC_")
_FOREIGN_NAMES = (
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "LANGUAGE",
    "BASH_ENV",
    "ENV",
)


def pytest_configure() -> None:
    """Before the first test module is imported, in each worker, too."""
    for name in list(os.environ):
        foreign = name.startswith(_FOREIGN) or name in _FOREIGN_NAMES or name.lower().endswith("_proxy")
        if foreign and not name.startswith(_OWN):
            del os.environ[name]
    # Unbuffered, Python's `print` is two writes, text and newline, and two processes mix theirs.
    os.environ.pop("PYTHONUNBUFFERED", None)
    os.environ["LANG"] = "C.UTF-8"
    os.umask(0o022)  # other accounts of this machine read what a test gives them
    # A background command of a shell ignores ctrl+c, and so would everything that is started here.
    for number, ordinary in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, ordinary)
    from tests.support import idle  # only now: Textual reads the environment when it is imported

    idle.install()
