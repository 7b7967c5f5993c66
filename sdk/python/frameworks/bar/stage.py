"""A channel, somebody who asks on it, and the program of a framework, whose process a test may kill."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import urllib.request
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from openintent_channels import Message, OpenIntentClient

PATIENCE = 300.0
"""How long what must happen may take, in seconds: frameworks take long to import on a busy machine."""

HERE = Path(__file__).parent.parent


class Running:
    """A process of the program under test."""

    def __init__(self, framework: str, plan: dict[str, Any], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / framework / "program.py"), json.dumps(plan)],
            stdout=subprocess.PIPE, env={**os.environ, **environment}, text=True,
        )
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.calls: list[dict[str, Any]] = []
        """What the models were shown at their calls, as far as `until` has seen it."""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("{"):
                self._lines.put(json.loads(line))
        self._lines.put(None)

    def until(self, meets: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Waits until the program tells what meets a condition."""
        while True:
            line = self._lines.get(timeout=PATIENCE)
            assert line is not None, f"the program ended with {self._process.wait()} after {self.calls}"
            if "shown" in line:
                self.calls.append(line)
                assert not line["without_result"], "a model refuses calls of tools without a result"
            if meets(line):
                return line

    def called(self, times: int, agent: str = "main") -> dict[str, Any]:
        """Waits for the n-th call of an agent's model, and returns what it was shown."""
        while len(found := [call for call in self.calls if call["agent"] == agent]) < times:
            self.until(lambda line: line.get("agent") == agent)
        return found[times - 1]

    def paused(self) -> None:
        """Waits until the model waits for messages."""
        self.until(lambda line: "paused" in line)

    def kill(self) -> None:
        """Kills it, with SIGKILL."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def stop(self) -> None:
        """Asks it to stop, with SIGTERM, and checks that it ends cleanly."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(PATIENCE) == 0

    def tell_to_stop(self) -> None:
        """Asks it to stop, and does not wait."""
        self._process.send_signal(signal.SIGTERM)

    def ended(self) -> int:
        """Waits for its end, and returns its exit code."""
        return self._process.wait(PATIENCE)


class Stage:
    """A channel of its own for each test."""

    def __init__(self, framework: str, store: str) -> None:
        self._framework, self._store = framework, store
        self.stores = bool(store)
        self.agent = f"agent_{uuid.uuid4().hex[:12]}"
        self.client = OpenIntentClient(agent_id="asker")
        self.channel = self.client.channels.open("questions", self.client.intents.create("The bar").id)
        self._threads = ThreadPoolExecutor()
        self._processes: list[Running] = []

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        self.client.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def run(self, *steps: dict[str, Any], **others: list[dict[str, Any]]) -> Running:
        """Starts the program, and waits until it receives; its model takes these steps."""
        process = Running(
            self._framework, {"main": list(steps), **others}, {"BAR_AGENT": self.agent, "BAR_STORE": self._store}
        )
        self._processes.append(process)
        process.until(lambda line: "receives" in line)
        return process

    def ask(self, text: str) -> Future[Message]:
        """Asks the agent, and waits for the answer in a thread."""
        return self._threads.submit(self.channel.ask, self.agent, {"text": text}, timeout=PATIENCE)

    def send(self, text: str, message_type: str = "request") -> str:
        """Sends the agent a message, and returns its id."""
        return self.channel.send({"text": text}, to=self.agent, message_type=message_type).id

    def answers(self, message_id: str) -> list[str]:
        """Returns the texts of all answers to a request that are stored."""
        return [message["payload"]["text"] for message in self._messages() if message["correlation_id"] == message_id]

    def said(self, text: str) -> int:
        """Returns how many messages with a text are stored."""
        return len([message for message in self._messages() if message["payload"].get("text") == text])

    def _messages(self) -> list[dict[str, Any]]:
        url = f"{os.environ['OPENINTENT_HTTP']}/v1/channels/{self.channel.id}/messages"
        headers = {"X-API-Key": os.environ["OPENINTENT_API_KEY"], "X-Agent-ID": "asker"}
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            found: list[dict[str, Any]] = json.load(answer)
            return found


def calls(*wanted: tuple[str, str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A step in which the model calls tools: the id of the call, the tool's name, and its arguments."""
    return {"calls": [{"id": name, "name": tool, "args": args} for name, tool, args in wanted], **more}


def note(name: str) -> tuple[str, str, dict[str, Any]]:
    """A call of a tool that has nothing to do with the mailbox."""
    return name, "note", {"text": name}
