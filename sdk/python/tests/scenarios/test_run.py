"""An agent as a program: `run` until a signal, `serve` until its task is cancelled. Each time it leaves in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import logging.handlers
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from openintent_channels import (
    Agent,
    AgentBase,
    AgentMessage,
    OpenIntentClient,
    RemoteError,
    UnauthenticatedError,
    UnavailableError,
    on_message,
)
from scenarios.stage import Stage

PROGRAM = """
import sys
from openintent_channels import Agent, on_message

@Agent(sys.argv[1])
class Program:
    @on_message("echoes")
    def answer(self, message):
        if "fail" in message.payload:
            raise LookupError(message.payload["fail"])
        return {"echo": message.payload}

Program.run()
print("left in order")
"""

SIGNALLED = """
import os, signal
from openintent_channels._retrying import Waits

wait = Waits.after

def after(self, error=None):
    # The signal comes before the first wait between two attempts.
    Waits.after = wait
    os.kill(os.getpid(), signal.SIGTERM)
    return wait(self, error)

Waits.after = after
"""


def ask(agent_id: str, payload: dict[str, Any], mistyped: str | None = None) -> dict[str, Any]:
    """Asks an agent, which may only be about to start. Before that, it tells it something on a channel that nobody
    handles, if one is named."""
    stage = Stage.from_environment()
    with OpenIntentClient(stage.server, api_key=stage.api_key) as client:
        intent = client.intents.create("Run a program")
        if mistyped:
            client.channels.open(mistyped, intent.id).notify(agent_id, {})
        opened = client.channels.open("echoes", intent.id)
        return client.channels.get(opened.id).ask(agent_id, payload, timeout=30).payload


def said(err: str) -> list[str]:
    """Returns what a program has logged, without times."""
    return [line.split(" ", 2)[2] for line in err.splitlines() if re.match(r"\d{4}-\d\d-\d\d ", line)]


def status(agent_id: str) -> str:
    return str(Stage.from_environment().rest("GET", f"/v1/agents/{agent_id}", None)["status"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_runs_until_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    path, agent_id = tmp_path / "program.py", f"program-{uuid.uuid4().hex[:10]}"
    path.write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-W", "error", str(path), agent_id],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as program:
        try:
            assert ask(agent_id, {"n": 1}) == {"echo": {"n": 1}}
            with pytest.raises(RemoteError, match="no such table") as failed:
                ask(agent_id, {"fail": "no such table"}, mistyped="echos")
            assert status(agent_id) == "active"
            program.send_signal(number)
            out, err = program.communicate(timeout=30)
        finally:
            program.kill()
    assert (program.returncode, out) == (0, "left in order\n"), err
    # The asker may have the failure before the agent has counted its handler as ended.
    lines = [line.replace("waits for 1 running", "waits for 0 running") for line in said(err)]
    assert lines == [
        f"INFO agent {agent_id} is connected to {Stage.from_environment().server} and receives",
        f'WARNING agent {agent_id} has no handler for channel "echos"; it has handlers for "echoes"',
        f'ERROR agent {agent_id}: the handler for channel "echoes" failed on message {failed.value.message_id}: '
        "LookupError: no such table",
        f"INFO agent {agent_id} is leaving and waits for 0 running handlers",
        f"INFO agent {agent_id} has left",
    ]
    assert "Traceback" in err
    assert status(agent_id) == "draining"


def make(agent_id: str, api_key: str) -> AgentBase:
    @Agent(agent_id, server=Stage.from_environment().server, api_key=api_key)
    class Served(AgentBase):
        @on_message()
        async def answer(self, message: AgentMessage) -> dict[str, Any]:
            return {"by": self.client.agent_id}

    return Served()


def test_serving_ends_with_its_task() -> None:
    agent_id = f"served-{uuid.uuid4().hex[:10]}"

    async def serve() -> None:
        agent = make(agent_id, Stage.from_environment().api_key)
        serving = asyncio.ensure_future(agent.serve())
        assert await asyncio.to_thread(ask, agent_id, {}) == {"by": agent_id}
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        with pytest.raises(RuntimeError, match="only while it runs"):
            _ = agent.client

    asyncio.run(serve())
    assert status(agent_id) == "draining"


def test_processes_say_who_receives_and_who_stands_by() -> None:
    agent_id, server = f"several-{uuid.uuid4().hex[:10]}", Stage.from_environment().server
    records = queue.SimpleQueue[logging.LogRecord]()
    handler, logger = logging.handlers.QueueHandler(records), logging.getLogger("openintent_channels")

    async def heard() -> str:
        return (await asyncio.to_thread(records.get, timeout=30)).getMessage()

    async def take_turns() -> None:
        first, second = (make(agent_id, Stage.from_environment().api_key) for _ in range(2))
        async with contextlib.AsyncExitStack() as leaving:
            async with first:
                assert await heard() == f"agent {agent_id} is connected to {server} and receives"
                await leaving.enter_async_context(second)
                expected = f"agent {agent_id} is connected to {server} and stands by: another process receives for it"
                assert await heard() == expected
            assert {await heard() for _ in range(3)} == {
                f"agent {agent_id} is leaving and waits for 0 running handlers",
                f"agent {agent_id} has left",
                f"agent {agent_id} takes over: it receives from now on",
            }

    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        asyncio.run(take_turns())
    finally:
        logger.setLevel(logging.NOTSET)
        logger.removeHandler(handler)


def test_leaving_for_good_deregisters() -> None:
    agent_id = f"leaving-{uuid.uuid4().hex[:10]}"

    async def serve() -> None:
        async with make(agent_id, Stage.from_environment().api_key) as agent:
            agent.leave(deregister=True)

    asyncio.run(serve())
    assert status(agent_id) == "deregistered"


def test_an_unknown_key_ends_the_agent() -> None:
    with pytest.raises(UnauthenticatedError):
        make("nobody", "no-such-key").run()


def test_a_signal_ends_a_program_that_finds_no_server() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound and not listening, so connections are refused
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "OPENINTENT_SERVER": address}
        command = [sys.executable, "-W", "error", "-c", SIGNALLED + PROGRAM, "lonely"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "left in order\n"
    failing, *leaving = said(done.stderr)
    assert failing.startswith(f"WARNING agent lonely cannot reach the server at {address} and keeps trying: ")
    assert leaving == ["INFO agent lonely is leaving and waits for 0 running handlers", "INFO agent lonely has left"]


def test_the_rest_address_is_told_from_the_one_of_grpc() -> None:
    address = Stage.from_environment().url.removeprefix("http://")
    with OpenIntentClient(address) as client, pytest.raises(UnavailableError, match=f"{address} does not speak gRPC; "):
        client.intents.create("Meet the REST interface")
