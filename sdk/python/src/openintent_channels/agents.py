"""Agents: programs that answer. A class with handlers, decorated with `Agent`, is one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar, cast

from ._agent_log import AgentLog
from ._agent_message import BlockingAgentMessage
from ._answers import Answers
from ._async_agent_message import AgentMessage
from ._bounds import agent_id_problem, bad_field
from ._calls import Starting
from ._console import console, without_stack
from ._handlers import Handler, handlers_of, on_digest, on_mention, on_message, on_obligation
from ._handling import Handling
from ._membership import Membership
from ._received import ReceivedMessage
from ._reporting import Reporting
from ._runtime import Runtime
from ._status_note import StatusNote
from ._waiting import Waiting
from .async_client import AsyncChannels, AsyncOpenIntentClient
from .workflows import bind, load_workflow

C = TypeVar("C", bound=type)

__all__ = [
    "Agent",
    "AgentBase",
    "AgentMessage",
    "BlockingAgentMessage",
    "ReceivedMessage",
    "on_digest",
    "on_mention",
    "on_message",
    "on_obligation",
]


@dataclass(frozen=True, slots=True)
class _Options:
    """How an agent runs."""

    agent_id: str
    role: str | None
    name: str | None
    capabilities: tuple[str, ...]
    register: bool
    concurrency: int
    drain_seconds: float
    server: str | None
    api_key: str | None
    tls: bool | None
    ca_file: str | os.PathLike[str] | None
    connect_timeout: float | None
    tracer_provider: Any
    attention: bool
    skip_unaddressed: bool
    waiting: Waiting

    @property
    def registers(self) -> bool:
        """Whether the agent has a record: a role needs one."""
        return self.register or self.role is not None


@dataclass(frozen=True, slots=True)
class _Start:
    """What is given when an agent starts. It goes before what the decorator says."""

    server: str | None = None
    api_key: str | None = None
    tls: bool | None = None
    connect_timeout: float | None = None
    watched: bool = False
    """Whether somebody waits for the start, as in `async with`."""


class _Run:
    """The `run` of an agent, on its class and on an instance: a class makes its instance without arguments."""

    def __get__(self, instance: AgentBase | None, owner: type[AgentBase]) -> Callable[..., None]:
        def run(
            *,
            server: str | None = None,
            api_key: str | None = None,
            tls: bool | None = None,
            connect_timeout: float | None = None,
        ) -> None:
            """Runs the agent until SIGINT or SIGTERM, or until `leave`. Raises the error that ended it; when nothing
            catches it, that is one line and no stack. What it logs from INFO on goes to standard error, unless the program
            has set up logging. It waits for its server for ever, and says so, unless `connect_timeout` bounds that."""
            agent = owner() if instance is None else instance
            with console() as told, without_stack(told):
                asyncio.run(agent._serve_with_signals(_Start(server, api_key, tls, connect_timeout)))

        return run


class AgentBase:
    """What `Agent` makes of a class. A class may name it as its base, so that type checkers see these members too."""

    _options: _Options
    _client: AsyncOpenIntentClient | None = None
    _runtime: Runtime | None = None
    _note: StatusNote | None = None

    run = _Run()

    @property
    def client(self) -> AsyncOpenIntentClient:
        """The agent's own client, while it runs. Raises RuntimeError otherwise."""
        if self._client is None:
            raise RuntimeError("the agent has a client only while it runs")
        return self._client

    @property
    def channels(self) -> AsyncChannels:
        """The channels, as handles; the same as `client.channels`."""
        return self.client.channels

    def set_status_note(self, note: str) -> None:
        """Says what the agent is doing, for people and other agents, in at most 200 characters; an empty note takes it away.
        Any thread may call it, and it does not wait for the server: the agent's next heartbeat brings the note, at most a
        second later. Of several notes only the last one counts. The agent's record keeps the note when the agent leaves.
        Raises InvalidArgumentError for one that is too long, and RuntimeError for an agent that does not register."""
        if not self._options.registers:
            raise RuntimeError("an agent that does not register has no status note")
        self._status_note.set(note)

    @property
    def _status_note(self) -> StatusNote:
        if self._note is None:
            self._note = StatusNote()
        return self._note

    async def serve(
        self,
        *,
        server: str | None = None,
        api_key: str | None = None,
        tls: bool | None = None,
        connect_timeout: float | None = None,
    ) -> None:
        """Runs the agent until it is cancelled or asked to leave. Arguments go before those of the decorator. It waits for
        its server for ever, and says so, unless `connect_timeout` bounds that. Raises the error that ended it:
        UnauthenticatedError, PermissionDeniedError, InvalidArgumentError or, for a failure of TLS and after
        `connect_timeout`, UnavailableError."""
        await self._serve(_Start(server, api_key, tls, connect_timeout))

    async def _serve(self, said: _Start) -> None:
        await self._start(said)
        await self._stay()

    def leave(self, deregister: bool = False) -> None:
        """Asks the running agent to leave in order. With `deregister` it leaves for good: what waits for it expires. Call
        this in the agent's event loop."""
        if self._runtime is not None:
            self._runtime.leave(deregister)

    async def __aenter__(self) -> AgentBase:
        """Starts the agent; it receives from then on. While a server on this machine refuses connections, it gives up after
        5 seconds, or after `connect_timeout` of the decorator, with an UnavailableError."""
        await self._start(_Start(watched=True))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves. Raises the error that ended the agent meanwhile, if any."""
        self.leave()
        await self._stay()

    def _own_handlers(self) -> list[Handler]:
        return handlers_of(self)

    async def _start(self, said: _Start) -> None:
        if self._runtime is not None:
            raise RuntimeError("the agent is running already")
        options, handlers = self._options, self._own_handlers()
        client = AsyncOpenIntentClient(
            options.server if said.server is None else said.server,
            api_key=options.api_key if said.api_key is None else said.api_key,
            agent_id=options.agent_id,
            tls=options.tls if said.tls is None else said.tls,
            ca_file=options.ca_file,
            tracer_provider=options.tracer_provider,
        )
        connection, rules = client._connection, client._rules
        rules.calls.outage = None  # the agent's log says it
        timeout = options.connect_timeout if said.connect_timeout is None else said.connect_timeout
        if timeout is None and said.watched:
            timeout = rules.calls.time_to_connect
        log = AgentLog(options.agent_id, rules.calls.address, rules.calls.clock)
        membership = Membership(
            connection, rules.calls, log, options.agent_id, options.role, options.name, options.capabilities,
            registers=options.registers, note=self._status_note,
            attends=options.attention or options.skip_unaddressed or any(handler.attends for handler in handlers),
            waiting=options.waiting,
            starting=Starting(None if timeout is None else rules.calls.deadline(timeout)),
        )
        reports = Reporting(connection, rules.conversation, options.agent_id) if membership.attends else None
        answers = Answers(connection, rules.calls, rules.tracing, log)
        handling = Handling(handlers, answers, rules.tracing, options.concurrency, reports)
        self._client, self._runtime = client, Runtime(
            membership, handling, options.concurrency, options.drain_seconds, reports, options.skip_unaddressed
        )
        try:
            await self._runtime.start()
        except BaseException:
            await self._stop()
            raise

    async def _stay(self) -> None:
        """Waits for the end of the run, and ends it in order."""
        try:
            if self._runtime is not None:
                await self._runtime.until_left()
        finally:
            await self._stop()

    async def _stop(self) -> None:
        client, runtime = self._client, self._runtime
        try:
            if runtime is not None:
                await runtime.drain()
        finally:
            self._client = self._runtime = None
            if client is not None:
                await client.close()

    async def _serve_with_signals(self, said: _Start) -> None:
        """Serves; a first SIGINT or SIGTERM asks the agent to leave. A second one ends it at once, as does one that comes
        while it still tries to start."""
        serving = asyncio.ensure_future(self._serve(said))

        def stop() -> None:
            if self._runtime is not None and self._runtime.is_at_work:
                self.leave()
            else:
                serving.cancel()

        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                with contextlib.suppress(NotImplementedError):  # Windows: KeyboardInterrupt ends the run
                    loop.add_signal_handler(number, stop)
        with contextlib.suppress(asyncio.CancelledError):
            await serving


class Agent:
    """Makes a class an agent: `@Agent("data-agent", role="data")`.

    `role` is the role that it takes, `name` and `capabilities` describe it to others. `register=False` leaves out the
    agent's record, unless there is a role, which needs one. At most `concurrency` handlers run at once. When it leaves,
    running handlers have `drain_seconds` to finish. `server`, `api_key`, `tls` and `ca_file` are as in OpenIntentClient.
    `connect_timeout` is how many seconds it waits for the first connection to its server: in `async with` 5 when the server
    is on this machine, and else for ever.

    With `attention`, each message says in `message.attention` what it asks of the agent, and the server hears what became of
    it. `skip_unaddressed` and a handler of `on_mention` or `on_obligation` turn it on too. `skip_unaddressed` leaves out
    messages to which the agent must not respond.

    With `compose`, messages wait until their sender pauses: for 3 seconds of silence, and at most for 30. What the sender
    wrote meanwhile is then handled in one go, one message after the other. Requests that are urgent do not wait. With
    `digest_seconds`, 1 to 86,400, messages that are not for the agent are gathered for so long into one digest for the
    handlers of `on_digest`, and no other handler is called for them. A digest has at most `max_chars` characters, 500 to
    20,000, or 2,000 unless given."""

    def __init__(
        self,
        agent_id: str,
        *,
        role: str | None = None,
        name: str | None = None,
        capabilities: Sequence[str] = (),
        register: bool = True,
        concurrency: int = 16,
        drain_seconds: float = 10,
        server: str | None = None,
        api_key: str | None = None,
        tls: bool | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        connect_timeout: float | None = None,
        tracer_provider: Any = None,
        attention: bool = False,
        skip_unaddressed: bool = False,
        compose: bool = False,
        digest_seconds: int | None = None,
        max_chars: int | None = None,
    ) -> None:
        if not isinstance(agent_id, str) or not agent_id:
            raise TypeError('Agent takes the agent\'s id: write @Agent("my-agent")')
        if problem := agent_id_problem(agent_id):
            raise bad_field("agent_id", problem)
        if concurrency < 1:
            raise ValueError("concurrency is at least 1")
        for option, number in {"digest_seconds": digest_seconds, "max_chars": max_chars}.items():
            if number is not None and (not isinstance(number, int) or number < 1):
                raise ValueError(f"{option} is a whole number of 1 or more")
        self._options = _Options(
            agent_id, role, name, tuple(capabilities), register, concurrency, drain_seconds, server, api_key, tls,
            ca_file, connect_timeout, tracer_provider, attention, skip_unaddressed,
            Waiting(compose, digest_seconds, max_chars),
        )

    def __call__(self, cls: C) -> C:
        """Returns the class as an agent: the class itself when it is an AgentBase, or else a new class that is both."""
        if issubclass(cls, AgentBase):
            cls._options = self._options
            return cls
        members = {
            "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__,
            "_options": self._options,
        }
        made: Any = type(cls)
        return cast(C, made(cls.__name__, (cls, AgentBase), members))

    @classmethod
    def from_workflow(
        cls, path: str | os.PathLike[str], agent_id: str, handlers: object | Mapping[str, Callable[..., Any]], **options: Any
    ) -> AgentBase:
        """Makes an agent of a workflow file: each entry of `agents.AGENT_ID.on_message` is bound to the member of
        `handlers`, an object or a mapping, that has the entry's name. Raises WorkflowError, which names what is missing.
        `options` are those of Agent."""
        bound = [Handler.of(channel, function) for channel, function in bind(load_workflow(path), agent_id, handlers)]
        agent = _WorkflowAgent(bound)
        agent._options = cls(agent_id, **options)._options
        return agent


class _WorkflowAgent(AgentBase):
    """An agent whose handlers a workflow file names."""

    def __init__(self, handlers: list[Handler]) -> None:
        self._bound = handlers

    def _own_handlers(self) -> list[Handler]:
        return self._bound
