"""What the scripted model of a test's program says at each of its calls, and what it is shown.

A plan names for each agent the steps that its model takes, one at each call; after the last one it says "done". A step has
`say` or `calls` (`id`, `name`, `args`, in which `$1` is the first message that the process was shown), and may first `fail`,
`hang` for ever, or wait `until_waiting` messages wait in the mailbox. Each call prints what the model was shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from openintent_channels import AsyncMailbox, AsyncOpenIntentClient

AGENT = os.environ.get("BAR_AGENT", "researcher")
STORE = os.environ.get("BAR_STORE", "")
DRAIN = 300.0
"""How long a run may go on after SIGTERM, in seconds: machines are busy."""

_ID = re.compile(r'^\{"id":"(msg_\w+)"', re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """A call of a tool that the model asks for."""

    id: str
    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Step:
    """What the model says: a text, or calls of tools."""

    text: str
    calls: tuple[Call, ...]


def tell(**what: Any) -> None:
    """Tells the test something."""
    print(json.dumps(what), flush=True)


class Plan:
    """The plan in the program's first argument. Once it is made, which is when the mailbox is open, the program receives."""

    def __init__(self, mailbox: AsyncMailbox) -> None:
        self._mailbox = mailbox
        self._steps: dict[str, list[dict[str, Any]]] = json.loads(sys.argv[1])
        self._ids: list[str] = []
        self._hang_after = ""
        tell(receives=True)

    async def next(
        self, agent: str, told: Iterable[str], called: Iterable[str], results: Iterable[tuple[str, str]]
    ) -> Step:
        """Returns the next step of an agent, whose model was told these texts from outside. It sees that it has made calls
        of tools with these ids, and what calls with some ids have returned. Real models refuse a call without a result."""
        returned = [*results]
        shown = _ID.findall("\n".join(told))
        self._ids += [name for name in dict.fromkeys(shown) if name not in self._ids]
        steps = self._steps.get(agent, [])
        step: dict[str, Any] = steps.pop(0) if steps else {"say": "done"}
        without = sorted({*called} - {call for call, _ in returned})
        tell(agent=agent, shown=shown, results=[text for _, text in returned], without_result=without)
        if step.get("hang"):
            await asyncio.Event().wait()
        if step.get("fail"):
            raise RuntimeError("the model has failed, as planned")
        await self._until_waiting(step.get("until_waiting", 0))
        self._hang_after = step.get("hang_after", "")
        calls = [Call(call["id"], call["name"], self._filled(call["args"])) for call in step.get("calls", [])]
        return Step(step.get("say", ""), tuple(calls))

    async def after_tool(self, name: str) -> None:
        """Hangs for ever after a call of a tool, if the step that called it says so with `hang_after`."""
        if name == self._hang_after:
            tell(hangs=name)
            await asyncio.Event().wait()

    def _filled(self, args: dict[str, Any]) -> dict[str, Any]:
        def filled(value: Any) -> Any:
            return self._ids[int(value[1:]) - 1] if isinstance(value, str) and re.fullmatch(r"\$\d+", value) else value

        return {name: filled(value) for name, value in args.items()}

    async def _until_waiting(self, count: int) -> None:
        came = asyncio.Event()
        end = self._mailbox.wake(came.set)
        if self._mailbox.waiting < count:
            tell(paused=True)
        while self._mailbox.waiting < count:
            came.clear()
            await came.wait()
        end()


def client() -> AsyncOpenIntentClient:
    """The client of the agent under test."""
    return AsyncOpenIntentClient(agent_id=AGENT)
