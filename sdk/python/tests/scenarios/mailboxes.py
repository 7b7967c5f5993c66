"""The mailboxes of a scenario: in this process, or each in one of its own, which a step can kill."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from openintent_channels import Answered, MailboxMessage
from scenarios.actors import Actor, AsyncActor, BlockingActor
from scenarios.conversing import INTERVAL
from scenarios.handled import PATIENCE
from scenarios.stage import Stage

if TYPE_CHECKING:
    from scenarios.teller import Teller

Said = dict[str, Any]

_OPTIONS = {"channels", "attention", "max_chars"}


class Box:
    """A mailbox, and what was taken from it last."""

    def __init__(self, actor: Actor, mailbox: Any) -> None:
        self._actor = actor
        self._mailbox = mailbox
        self._batch: Any = None
        self._chars = 0

    @classmethod
    async def open(cls, actor: Actor, said: Said) -> Box:
        """Opens a mailbox of the actor's agent."""
        options = {name: said[name] for name in _OPTIONS & said.keys()}
        box = cls(actor, actor.client.mailbox(actor.client.agent_id or "", **options))
        box._chars = said.get("max_chars", 4_000)
        await actor.call(box._mailbox.open)
        return box

    async def do(self, what: str, said: Said) -> Any:
        """Does a step."""
        return await getattr(self, f"_{what}")(**said)

    async def _take(self, count: int, wait: float = 0) -> Said:
        while self._mailbox.waiting < count:
            await asyncio.sleep(INTERVAL)
        batch = await self._actor.call(self._mailbox.take, wait)
        self._batch = batch if batch.messages else self._batch
        fits = sum(len(message.text) for message in batch.messages) <= self._chars
        return {"fits": fits, "messages": [_plain(message) for message in batch.messages]}

    async def _settle(self, except_: list[str] | None = None) -> None:
        await self._actor.call(self._batch.settle, except_ or [])

    async def _waiting(self, count: int) -> int:
        while self._mailbox.waiting != count:
            await asyncio.sleep(INTERVAL)
        return count

    async def _answer(self, message: str, payload: Any) -> Said:
        return _answered(await self._actor.call(self._mailbox.answer, message, payload))

    async def _decline(self, message: str, note: str | None = None) -> Said:
        return _answered(await self._actor.call(self._mailbox.decline, message, note))

    async def _read(self, message: str) -> Said:
        text = await self._actor.call(self._mailbox.read, message)
        return {"fits": len(text) <= self._chars, "goes_on": "There is more" in text}

    async def _tool(self, tool: str, arguments: Said) -> Said:
        function = next(one for one in self._mailbox.tools() if one.__name__ == tool)
        return {"text": await self._actor.call(function, **arguments)}

    async def close(self) -> None:
        """Closes the mailbox."""
        await self._actor.call(self._mailbox.close)

    async def kill(self) -> None:
        """Refuses: nobody kills this process."""
        raise AssertionError("only a mailbox that is apart can be killed")


def _plain(message: MailboxMessage) -> Said:
    names = ("id", "sender", "sender_kind", "channel", "policy", "waits_for_answer", "attempt")
    fenced = json.loads(message.text.partition("\n")[0])
    facts = {"id": fenced["id"], "from": fenced["from"]}
    assert facts == {"id": message.id, "from": message.sender}, "the text says who has sent it"
    return {
        **{name: getattr(message, name) for name in names},
        "payload": message.message.payload,
        "cut": "cut_from_bytes" in fenced,
    }


def _answered(answered: Answered) -> Said:
    payload = answered.message.payload if answered.message else None
    return {"stored": answered.stored, "payload": payload, "declined": answered.declined}


class Apart:
    """A mailbox in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, server: str, api_key: str, agent_id: str, blocking: bool, said: Said) -> Apart:
        """Starts the process, and opens the mailbox in it."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-m", "scenarios.mailboxes",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, limit=2**24,
        )
        apart = cls(process)
        who = {"server": server, "api_key": api_key, "agent_id": agent_id, "blocking": blocking}
        await apart.do("open", {"who": who, **said})
        return apart

    async def do(self, what: str, said: Said) -> Any:
        """Does a step in the process."""
        reader, writer = self._process.stdout, self._process.stdin
        assert reader and writer
        async with self._turn:
            writer.write(json.dumps({"do": what, "with": said}).encode() + b"\n")
            await writer.drain()
            line = await reader.readline()
        answer = json.loads(line or '{"failed": "the process has ended"}')
        assert "failed" not in answer, f"{what}: {answer['failed']}"
        return answer["result"]

    async def close(self) -> None:
        """Closes the mailbox in order, and ends the process."""
        if self._process.returncode is None:
            await self.do("close", {})
            await self._end()

    async def kill(self) -> None:
        """Kills the process."""
        self._process.kill()
        await self._end()

    async def _end(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
            with contextlib.suppress(ConnectionError):
                await self._process.stdin.wait_closed()
        await self._process.wait()


async def _serve() -> None:
    """Does what is asked on standard input, until that ends."""
    loop, boxes = asyncio.get_running_loop(), list[Box]()
    with ThreadPoolExecutor() as threads:
        while line := await loop.run_in_executor(threads, sys.stdin.readline):
            asked = json.loads(line)
            try:
                result = await _asked(boxes, asked["do"], asked["with"], threads)
                answer = {"result": result}
            except Exception as error:
                answer = {"failed": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)


async def _asked(boxes: list[Box], what: str, said: Said, threads: ThreadPoolExecutor) -> Any:
    if what == "open":
        who = said.pop("who")
        server, key, agent_id = who["server"], who["api_key"], who["agent_id"]
        blocking = who["blocking"]
        actor = BlockingActor(server, key, agent_id, threads) if blocking else AsyncActor(server, key, agent_id)
        boxes.append(await Box.open(actor, said))
        return None
    if what == "close":
        await boxes[0].close()
        return await boxes[0]._actor.close()
    return await boxes[0].do(what, said)


async def _open_mailbox(teller: Teller, who: str, said: Said, _: Said) -> None:
    name, apart = said.pop("mailbox"), said.pop("apart", False)
    if not apart:
        teller.mailboxes[name] = await Box.open(teller.actor(who), said)
        return
    server = teller.servers.get(who, teller.stage.server)
    agent_id, key = teller.names.unique(who), Stage.from_environment().api_key
    teller.mailboxes[name] = await Apart.open(server, key, agent_id, teller.blocking, said)


def _in_mailbox(what: str) -> Callable[[Teller, str, Said, Said], Awaitable[Any]]:
    async def deed(teller: Teller, _who: str, said: Said, _: Said) -> Any:
        box = teller.mailboxes[said.pop("mailbox")]
        if "except" in said:
            said["except_"] = said.pop("except")
        if "with" in said:
            said["arguments"] = said.pop("with")
        return await asyncio.wait_for(box.do(what, said), 2 * PATIENCE)

    return deed


async def _close_mailbox(teller: Teller, _who: str, said: Said, _: Said) -> None:
    await teller.mailboxes.pop(said["mailbox"]).close()


async def _kill_mailbox(teller: Teller, _who: str, said: Said, _: Said) -> None:
    await teller.mailboxes.pop(said["mailbox"]).kill()


async def _register(teller: Teller, who: str, said: Said, _: Said) -> None:
    body = {"agent_id": teller.names.unique(who), "role_id": teller.names.unique(said["role"])}
    await teller.rest(who, "POST", "/v1/agents", body)


MAILING: dict[str, Callable[[Teller, str, Said, Said], Awaitable[Any]]] = {
    "open_mailbox": _open_mailbox,
    "take": _in_mailbox("take"),
    "settle": _in_mailbox("settle"),
    "waiting": _in_mailbox("waiting"),
    "answer": _in_mailbox("answer"),
    "decline": _in_mailbox("decline"),
    "read": _in_mailbox("read"),
    "tool": _in_mailbox("tool"),
    "close_mailbox": _close_mailbox,
    "kill_mailbox": _kill_mailbox,
    "register": _register,
}

if __name__ == "__main__":
    asyncio.run(_serve())
