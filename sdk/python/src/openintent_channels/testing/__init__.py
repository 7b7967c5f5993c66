"""A test kit for those who write agents: a server in the test, time that the test moves, and peers that follow a script.

For pytest, write in `conftest.py`:

    pytest_plugins = ["openintent_channels.testing"]

Then a test may take the fixtures `openintent_server`, `intent` and `channel`. Elsewhere, `run_server` starts a server for
the length of a block.
"""

import importlib.util

from ._peers import Peer
from ._program import ServerError, find_program
from ._record import Heard, Said
from ._server import Server, run_server
from ._story import Difference, Report, load_story, play

__all__ = [
    "Difference",
    "Heard",
    "Peer",
    "Report",
    "Said",
    "Server",
    "ServerError",
    "find_program",
    "load_story",
    "play",
    "run_server",
]

if importlib.util.find_spec("pytest"):
    from ._fixtures import (  # noqa: F401
        channel,
        intent,
        openintent_server,
        pytest_configure,
        pytest_runtest_makereport,
    )
