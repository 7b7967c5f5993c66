"""Handlers are found in order, matched by channel, and called with what their parameters ask for."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from openintent_channels import AgentMessage, Message, PayloadError, RemoteError, on_message, on_obligation
from openintent_channels._handlers import Handler, about_of, answer_of, failure_of, handlers_of, matching
from openintent_channels.agents import ReceivedMessage
from openintent_channels.models import message_of
from unit.fake_server import message


@dataclass
class Question:
    n: int


class Base:
    @on_message(channel="a")
    async def first(self, message: AgentMessage) -> None: ...

    @on_message(channel="a")
    @on_message(channel="b")
    def second(self, message: Any) -> None: ...


class Derived(Base):
    @on_message()
    async def rest(self, message: Any) -> None: ...

    @on_message(channel="c")
    async def typed(self, question: Question, message: AgentMessage, more: int = 0) -> None: ...

    @on_message(channel="d")
    async def plain(self, payload: dict[str, Any]) -> None: ...

    async def first(self, message: AgentMessage) -> None: ...  # no longer a handler


HANDLERS = handlers_of(Derived())


def names(channel: str) -> list[str]:
    return [handler.function.__name__ for handler in matching(HANDLERS, channel)]


def test_handlers_are_found() -> None:
    assert [(h.channel, h.function.__name__) for h in HANDLERS] == [
        ("a", "second"), ("b", "second"), (None, "rest"), ("c", "typed"), ("d", "plain"),
    ]
    assert [h.channel for h in handlers_of(Base())] == ["a", "a", "b"]


def test_handlers_without_a_channel_take_what_no_other_takes() -> None:
    assert names("a") == ["second"]
    assert names("elsewhere") == ["rest"]
    assert matching(handlers_of(Base()), "elsewhere") == []


def asked(payload: dict[str, Any]) -> Any:
    """A message with a payload."""
    return message_of(message("m1", **payload))


def test_parameters_are_filled_by_their_types() -> None:
    message: Any = asked({"n": 5})
    assert matching(HANDLERS, "c")[0].arguments(message) == [Question(5), message]
    assert matching(HANDLERS, "d")[0].arguments(message) == [{"n": 5}]
    assert matching(HANDLERS, "a")[0].arguments(message) == [message]


@pytest.mark.parametrize("kind", [Message, ReceivedMessage, AgentMessage])
def test_a_message_is_given_under_the_name_of_each_of_its_classes(kind: Any) -> None:
    def handle(message: Any) -> None: ...

    handle.__annotations__["message"] = kind
    given: Any = SimpleNamespace(payload={})
    assert Handler.of(None, handle).arguments(given) == [given]


def test_a_payload_of_another_form_is_refused() -> None:
    with pytest.raises(PayloadError, match=r"payload\.n is missing \(message m1 from asker\)") as raised:
        matching(HANDLERS, "c")[0].arguments(asked({}))
    assert (raised.value.agent, raised.value.message_id, raised.value.reason) == ("asker", "m1", "INVALID_PAYLOAD")
    assert raised.value.violations[0].field == "payload.n"


def test_async_and_plain_are_told_apart() -> None:
    assert [h.is_async for h in HANDLERS] == [False, False, True, True, True]


def test_an_annotation_that_means_nothing_is_refused_at_the_start() -> None:
    async def handler(message: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037

    with pytest.raises(TypeError, match="Missing"):
        Handler.of(None, handler)


def test_a_forgotten_pair_of_brackets_is_reported() -> None:
    with pytest.raises(TypeError, match=r"@on_message\(\)"):
        on_message(lambda message: None)  # type: ignore[arg-type]


def test_results_become_answers() -> None:
    assert answer_of(None) is None
    answer = answer_of(Question(3))
    assert answer is not None
    assert (answer.payload, answer.failed) == ({"n": 3}, False)
    with pytest.raises(PayloadError, match="result"):
        answer_of("text")


def test_failures_become_answers() -> None:
    failure = failure_of(KeyError("table"))
    assert failure.failed
    assert failure.payload == {"error": {"type": "KeyError", "message": "'table'"}}
    response: Any = SimpleNamespace(correlation_id=None)
    passed_on = failure_of(RemoteError("no such table", type="KeyError", response=response))
    assert passed_on.payload == {"error": {"type": "RemoteError", "message": "no such table"}}
    assert len(failure_of(ValueError("x" * 100_000)).payload["error"]["message"]) == 8_192


def test_a_failure_says_only_what_can_be_sent() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("nothing to say")

    assert failure_of(ValueError("a\0b\ud800c")).payload["error"]["message"] == "a\ufffdb?c"
    assert failure_of(Mute()).payload == {"error": {"type": "Mute", "message": ""}}


class Indebted:
    @on_message()
    async def rest(self, message: Any) -> None: ...

    @on_obligation()
    async def owed(self, message: Any) -> None: ...


def test_obligations_have_handlers_of_their_own() -> None:
    handlers = handlers_of(Indebted())
    assert [h.function.__name__ for h in matching(handlers, "_system", about_of("obligation_return"))] == ["owed"]
    assert [h.function.__name__ for h in matching(handlers, "a", about_of("obligation"))] == ["owed"]
    assert [h.function.__name__ for h in matching(handlers, "a", about_of("mention"))] == ["rest"]
    assert [h.function.__name__ for h in matching(handlers, "a", about_of(None))] == ["rest"]
