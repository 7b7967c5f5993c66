"""An agent says what happens to it: each event of the table in sdk/README.md, in its words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from openintent_channels import AgentMessage, BlockingAgentMessage
from openintent_channels._agent_log import AgentLog
from openintent_channels._generated import messages_pb2, subscriptions_pb2
from openintent_channels._runtime import Runtime
from openintent_channels.errors import (
    ChannelClosedError,
    FailedPreconditionError,
    IntentEndedError,
    InvalidArgumentError,
    MessageExpiredError,
    OpenIntentError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
)
from unit.fake_server import FakeServer, delivery, in_loop, message, runtime
from unit.playing import away

CONNECTED = "INFO agent me is connected to host:9 and receives"
STANDS_BY = "INFO agent me is connected to host:9 and stands by: another process receives for it"
FAREWELL = ["INFO agent me is leaving and waits for 0 running handlers", "INFO agent me has left"]
NOTIFY = messages_pb2.MESSAGE_TYPE_NOTIFY


class Heard(logging.Handler):
    """What the package has logged, as lines that begin with the level."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self._changed = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self._changed.set()

    @property
    def lines(self) -> list[str]:
        return [f"{record.levelname} {record.getMessage()}" for record in self.records]

    async def until(self, count: int) -> list[str]:
        """Waits for that many lines, and returns all."""
        while len(self.records) < count:
            self._changed.clear()
            await self._changed.wait()
        return self.lines


LOGGER = logging.getLogger("openintent_channels")


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler = Heard()
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    yield handler
    LOGGER.setLevel(logging.NOTSET)
    LOGGER.removeHandler(handler)


async def silent(message: AgentMessage) -> None: ...


async def answers(message: AgentMessage) -> dict[str, Any]:
    return {}


async def started(server: FakeServer, *functions: Any, **said: Any) -> Runtime:
    agent = runtime(server, *functions or (silent,), **said)
    await agent.start()
    return agent


@in_loop
async def test_connecting_and_leaving(heard: Heard) -> None:
    agent = await started(FakeServer())
    await heard.until(1)
    await agent.drain()
    assert heard.lines == [CONNECTED, *FAREWELL]


@in_loop
async def test_standing_by_and_taking_over(heard: Heard) -> None:
    server = FakeServer()
    server.stands_by = True
    agent = await started(server)
    assert await heard.until(1) == [STANDS_BY]
    server.take_over()
    assert await heard.until(2) == [STANDS_BY, "INFO agent me takes over: it receives from now on"]
    server.deliver(subscriptions_pb2.SubscriptionDelivery(standing_by=True))
    assert (await heard.until(3))[2] == STANDS_BY
    assert len(server.said("GetInbox")) == 1, "who stands by leaves the inbox alone"
    await agent.drain()


@in_loop
async def test_a_lost_stream_and_its_successor(heard: Heard) -> None:
    server = FakeServer()
    agent = await started(server)
    server.deliver(away("SERVER_STOPPING"))
    await heard.until(3)
    server.stands_by = True
    server.deliver(None)
    await heard.until(5)
    await agent.drain()
    assert heard.lines[:5] == [
        CONNECTED,
        "INFO agent me lost its connection to host:9 and connects again: away (SERVER_STOPPING)",
        "INFO agent me is connected to host:9 again and receives",
        "INFO agent me lost its connection to host:9 and connects again: the server ended the stream",
        "INFO agent me is connected to host:9 again and stands by: another process receives for it",
    ]


@in_loop
async def test_a_server_that_cannot_be_reached_at_first(heard: Heard) -> None:
    server = FakeServer()
    server.failing["UpsertAgent"] = [away() for _ in range(50)]
    server.failing["CreateSubscription"] = [away() for _ in range(50)]
    agent = await started(server)
    await heard.until(2)
    await agent.drain()
    assert heard.lines[:2] == [
        "WARNING agent me cannot reach the server at host:9 and keeps trying: away (UNAVAILABLE)", CONNECTED,
    ]


@in_loop
async def test_a_server_that_goes_away_for_a_while(heard: Heard) -> None:
    server = FakeServer()
    agent = await started(server)
    server.failing["StreamDeliveries"] = [away() for _ in range(50)]
    server.deliver(away())
    await heard.until(4)
    await agent.drain()
    assert heard.lines[:4] == [
        CONNECTED,
        "INFO agent me lost its connection to host:9 and connects again: away (UNAVAILABLE)",
        "WARNING agent me cannot reach the server at host:9 and keeps trying: away (UNAVAILABLE)",
        "INFO agent me is connected to host:9 again and receives",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(10, "10s"), (60, "1m0s"), (119.9, "1m59s"), (120, "2m0s"), (3_600, "1h0m0s"), (90_061, "25h1m1s")],
)
def test_a_long_absence_is_told_at_growing_intervals(heard: Heard, seconds: float, said: str) -> None:
    now = [100.0]
    log = AgentLog("me", "host:9", lambda: now[0])
    for now[0] in (100.0, 105.0, 109.9, 100.0 + seconds, 100.0 + seconds + 19.9):
        log.failed(away())
    assert heard.lines == [
        "WARNING agent me cannot reach the server at host:9 and keeps trying: away (UNAVAILABLE)",
        f"WARNING agent me has not reached the server at host:9 for {said} and keeps trying: away (UNAVAILABLE)",
    ]
    now[0] += 0.2
    log.failed(away())
    assert len(heard.lines) == 3
    log.connected(False)
    now[0] += 1
    log.lost(away())
    log.failed(away())
    assert [line.split(" at ")[0] for line in heard.lines[3:]] == [
        CONNECTED,
        "INFO agent me lost its connection to host:9 and connects again: away (UNAVAILABLE)",
        "WARNING agent me cannot reach the server",
    ]


def test_a_call_that_fails_beside_a_living_stream_says_nothing_about_the_connection(heard: Heard) -> None:
    log = AgentLog("me", "host:9", lambda: 0.0)
    log.connected(False)
    log.failed(away())
    assert heard.lines == [CONNECTED]


def refusal(kind: type[OpenIntentError], code: str, reason: str = "") -> OpenIntentError:
    return kind("refused", code=code, reason=reason)


ENDING = [
    refusal(UnauthenticatedError, "UNAUTHENTICATED", "API_KEY_UNKNOWN"),
    refusal(PermissionDeniedError, "PERMISSION_DENIED"),
    refusal(InvalidArgumentError, "INVALID_ARGUMENT"),
]


@pytest.mark.parametrize("error", ENDING)
@in_loop
async def test_giving_up(heard: Heard, error: OpenIntentError) -> None:
    server = FakeServer()
    agent = await started(server)
    await heard.until(1)
    server.failing["Heartbeat"] = [error]
    server.beat()
    server.deliver(error)
    with pytest.raises(type(error)):
        await agent.until_left()
    await agent.drain()
    assert heard.lines == [CONNECTED, f"ERROR agent me gives up: {error}"]


@pytest.mark.parametrize("error", ENDING)
@in_loop
async def test_giving_up_at_the_start(heard: Heard, error: OpenIntentError) -> None:
    server = FakeServer()
    server.failing["UpsertAgent"] = [error]
    agent = runtime(server, silent)
    with pytest.raises(type(error)):
        await agent.start()
    await agent.drain()
    assert heard.lines == [f"ERROR agent me gives up: {error}"]


@in_loop
async def test_leaving_waits_for_handlers(heard: Heard) -> None:
    running, gate = asyncio.Event(), asyncio.Event()

    async def slow(message: AgentMessage) -> None:
        running.set()
        await gate.wait()

    server = FakeServer()
    agent = await started(server, slow)
    server.deliver(delivery(1))
    await running.wait()
    leaving = asyncio.ensure_future(agent.drain())
    await heard.until(2)
    gate.set()
    await leaving
    assert heard.lines == [
        CONNECTED, "INFO agent me is leaving and waits for 1 running handlers", "INFO agent me has left",
    ]


@in_loop
async def test_leaving_before_handlers_ended(heard: Heard) -> None:
    running = asyncio.Event()

    async def endless(message: AgentMessage) -> None:
        running.set()
        await asyncio.Event().wait()

    server = FakeServer()
    agent = await started(server, endless, drain_seconds=0)
    server.deliver(delivery(1))
    await running.wait()
    await agent.drain()
    assert heard.lines == [
        CONNECTED,
        "INFO agent me is leaving and waits for 1 running handlers",
        "WARNING agent me left before 1 of its handlers ended",
        "INFO agent me has left",
    ]


@pytest.mark.parametrize(
    ("channels", "has"),
    [
        (["b", "a", "b"], 'it has handlers for "a", "b"'),
        (["talks"], 'it has handlers for "talks"'),
        ([], "it has no handlers at all"),
    ],
)
@in_loop
async def test_a_message_without_a_handler(heard: Heard, channels: list[str], has: str) -> None:
    server = FakeServer()
    agent = await started(server, channels=channels)
    server.deliver(delivery(1), delivery(2, message("told", NOTIFY)), delivery(3, message("own", sender="me")))
    other = delivery(4)
    other.channel_name = 'an "odd" one\n'
    server.deliver(other)
    await server.until_acknowledged(1, 2, 3, 4)
    await agent.drain()
    assert heard.lines[1:3] == [
        f'WARNING agent me has no handler for channel "talk"; {has}',
        f'WARNING agent me has no handler for channel "an \\"odd\\" one\\n"; {has}',
    ]


@pytest.mark.parametrize("kind", [messages_pb2.MESSAGE_TYPE_REQUEST, NOTIFY])
@in_loop
async def test_a_handler_that_fails(heard: Heard, kind: Any) -> None:
    def looks_up_a_table(message: BlockingAgentMessage) -> None:
        raise KeyError("table")

    server = FakeServer()
    agent = await started(server, looks_up_a_table)
    server.deliver(delivery(1, message("m1", kind)))
    await server.until_acknowledged(1)
    await agent.drain()
    assert heard.lines[1] == """ERROR agent me: the handler for channel "talk" failed on message m1: KeyError: 'table'"""
    record = heard.records[1]
    assert "in looks_up_a_table" in logging.Formatter().format(record)


@dataclass
class Question:
    table: str


def asks_for_a_table(question: Question) -> dict[str, Any]:
    return {}


def reads_a_table(message: BlockingAgentMessage) -> None:
    message.payload_as(Question)


def answers_with_text(message: BlockingAgentMessage) -> str:
    return "no object"


UNFIT = [
    (asks_for_a_table, "the payload of", "payload.table is missing (message m1 from asker)"),
    (reads_a_table, "the payload of", "payload.table is missing (message m1 from asker)"),
    (
        answers_with_text, "what the handler returned for",
        "result must be an object, a dataclass or a pydantic model, not str.",
    ),
]


@pytest.mark.parametrize(("handler", "what", "says"), UNFIT)
@in_loop
async def test_a_payload_that_does_not_fit_is_one_line_and_an_error_of_its_own(
    heard: Heard, handler: Any, what: str, says: str
) -> None:
    server = FakeServer()
    agent = await started(server, handler)
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    await agent.drain()
    assert heard.lines[1] == f'ERROR agent me: {what} message m1 on channel "talk" does not fit: {says}'
    assert "\n" not in logging.Formatter().format(heard.records[1])
    (answer,) = server.replies()
    assert answer[2] == {"error": {"type": "PayloadError", "message": says}}


@in_loop
async def test_a_result_that_the_server_does_not_take_is_a_failure_of_the_handler(heard: Heard) -> None:
    server = FakeServer()
    server.failing["ReplyMessage"] = [refusal(ResourceExhaustedError, "RESOURCE_EXHAUSTED", "PAYLOAD_TOO_LARGE")]
    agent = await started(server, answers)
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    await agent.drain()
    assert heard.lines[1].startswith('ERROR agent me: the handler for channel "talk" failed on message m1: ')
    assert heard.lines[1].endswith("refused (PAYLOAD_TOO_LARGE)")


async def replies(message: AgentMessage) -> None:
    await message.reply({})


def replies_from_a_thread(message: BlockingAgentMessage) -> None:
    message.reply({})


@pytest.mark.parametrize("handler", [answers, replies, replies_from_a_thread])
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (MessageExpiredError, "MESSAGE_EXPIRED"),
        (ChannelClosedError, "CHANNEL_CLOSED"),
        (IntentEndedError, "INTENT_ENDED"),
        (FailedPreconditionError, "SOMETHING_ELSE"),
    ],
)
@in_loop
async def test_an_answer_that_comes_too_late(heard: Heard, handler: Any, kind: type[OpenIntentError], reason: str) -> None:
    server = FakeServer()
    server.failing["ReplyMessage"] = [refusal(kind, "FAILED_PRECONDITION", reason)]
    agent = await started(server, handler)
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    await agent.drain()
    late = f'WARNING agent me: the answer to message m1 on channel "talk" came too late: refused ({reason})'
    assert heard.lines == [CONNECTED, late, *FAREWELL]
    assert heard.records[1].exc_info is None


@in_loop
async def test_an_answer_that_is_refused_for_another_reason(heard: Heard) -> None:
    server = FakeServer()
    server.failing["ReplyMessage"] = [refusal(PermissionDeniedError, "PERMISSION_DENIED", "NOT_A_MEMBER")]
    agent = await started(server, answers)
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    await agent.drain()
    assert heard.lines[1] == (
        'WARNING agent me: the answer to message m1 on channel "talk" was refused: refused (NOT_A_MEMBER)'
    )
