"""Spans around conversations, when the user's program has OpenTelemetry; without it, nothing at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

try:
    from opentelemetry import propagate, trace
except ImportError:  # pragma: no cover - depends on what is installed
    propagate, trace = None, None  # type: ignore[assignment]

_TRACER = "openintent_channels"
_PARENT = "traceparent"


@dataclass(frozen=True, slots=True)
class Trace:
    """What a message and its call carry of a trace; nothing without a trace."""

    headers: tuple[tuple[str, str], ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


NOTHING = Trace()


@dataclass(frozen=True, slots=True)
class Tracing:
    """Opens spans with the given provider, or the program's own. Without OpenTelemetry, it does nothing."""

    provider: Any = None

    @contextmanager
    def asking(self, name: str) -> Iterator[Trace]:
        """Opens a client span and yields what tells the other side about it. The span notes errors that leave it."""
        if trace is None:
            yield NOTHING
            return
        tracer = trace.get_tracer(_TRACER, tracer_provider=self.provider)
        with tracer.start_as_current_span(name, kind=trace.SpanKind.CLIENT) as span:
            yield _carried(span)

    @contextmanager
    def handling(self, metadata: Mapping[str, Any], attributes: Mapping[str, str]) -> Iterator[Any]:
        """Opens the span of a handler, as a child of the span that the message names. Yields the span, or None."""
        if trace is None:
            yield None
            return
        parent = metadata.get(_PARENT)
        context = propagate.extract({_PARENT: parent}) if isinstance(parent, str) else None
        tracer = trace.get_tracer(_TRACER, tracer_provider=self.provider)
        with tracer.start_as_current_span(
            "openintent.handle", context=context, kind=trace.SpanKind.SERVER, attributes=dict(attributes)
        ) as span:
            yield span


def _carried(span: Any) -> Trace:
    """Returns what the messages of a span carry; nothing for a span that nobody records or passes on."""
    context = span.get_span_context()
    if not context.is_valid:
        return NOTHING
    trace_id = format(context.trace_id, "032x")
    parent = f"00-{trace_id}-{format(context.span_id, '016x')}-{int(context.trace_flags):02x}"
    return Trace(headers=((_PARENT, parent),), metadata={_PARENT: parent, "trace_id": trace_id})
