"""With OpenTelemetry an ask is one trace; without it nothing is added."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from openintent_channels import RemoteError, _tracing
from openintent_channels._asking import Asking
from openintent_channels._structs import from_struct
from openintent_channels._tracing import Tracing
from unit.playing import Player
from unit.test_asking import response


@pytest.fixture
def spans() -> tuple[Tracing, InMemorySpanExporter]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider), exporter


def ask(player: Player, tracing: Tracing, metadata: dict[str, Any] | None = None) -> Any:
    player.play(Asking(player.calls(), tracing).ask("c", "b", {}, 30, None, metadata, None))
    return player.invoked[0]


def test_an_ask_and_its_handling_are_one_trace(spans: tuple[Tracing, InMemorySpanExporter]) -> None:
    tracing, exporter = spans
    asked = ask(Player.of(response({})), tracing)
    carried = from_struct(asked.request.metadata)
    assert dict(asked.metadata) == {"traceparent": carried["traceparent"]}
    with tracing.handling(carried, {"openintent.channel": "c"}):
        pass
    asking, handling = exporter.get_finished_spans()
    assert (asking.name, asking.kind) == ("openintent.ask", SpanKind.CLIENT)
    assert handling.name == "openintent.handle"
    assert handling.parent is not None
    assert handling.parent.span_id == asking.context.span_id
    assert handling.context.trace_id == asking.context.trace_id
    assert carried["trace_id"] == format(asking.context.trace_id, "032x")


def test_what_the_caller_says_goes_first(spans: tuple[Tracing, InMemorySpanExporter]) -> None:
    asked = ask(Player.of(response({})), spans[0], {"trace_id": "mine", "tag": 1})
    metadata = from_struct(asked.request.metadata)
    assert (metadata["trace_id"], metadata["tag"]) == ("mine", 1)
    assert metadata["traceparent"].startswith("00-")


def test_a_failure_is_noted_in_the_span(spans: tuple[Tracing, InMemorySpanExporter]) -> None:
    tracing, exporter = spans
    with pytest.raises(RemoteError):
        ask(Player.of(response({"error": {"message": "no"}}, openintent_error=True)), tracing)
    (span,) = exporter.get_finished_spans()
    assert not span.status.is_ok


@pytest.mark.parametrize("parent", [None, 5, "garbled"])
def test_without_a_parent_a_handling_begins_a_trace(spans: tuple[Tracing, InMemorySpanExporter], parent: object) -> None:
    tracing, exporter = spans
    with tracing.handling({"traceparent": parent}, {}):
        pass
    (span,) = exporter.get_finished_spans()
    assert span.parent is None


def test_without_a_provider_nothing_is_added() -> None:
    asked = ask(Player.of(response({})), Tracing())
    assert asked.metadata == ()
    assert not asked.request.HasField("metadata")


def test_without_opentelemetry_nothing_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tracing, "trace", None)
    asked = ask(Player.of(response({})), Tracing())
    assert asked.metadata == ()
    with Tracing().handling({}, {}) as span:
        assert span is None
