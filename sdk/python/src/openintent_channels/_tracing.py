"""Spans around conversations, when the user's program has OpenTelemetry; without it, nothing at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
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

# One of each is enough: they keep nothing.
_UNTRACED: AbstractContextManager[Trace] = nullcontext(NOTHING)
_NO_SPAN: AbstractContextManager[Any] = nullcontext(None)


@dataclass(frozen=True, slots=True)
class Tracing:
    """Opens spans with the given provider, or the program's own. Without OpenTelemetry, it does nothing."""

    provider: Any = None

    def asking(self, name: str) -> AbstractContextManager[Trace]:
        """Opens a client span and yields what tells the other side about it. The span notes errors that leave it."""
        return _UNTRACED if self._is_silent() else self._asking(name)

    def handling(self, metadata: Mapping[str, Any], attributes: Mapping[str, str]) -> AbstractContextManager[Any]:
        """Opens the span of a handler, as a child of the span that the message names. Yields the span, or None."""
        if self._is_silent() and (trace is None or _PARENT not in metadata):
            return _NO_SPAN
        return self._handling(metadata, attributes)

    def _is_silent(self) -> bool:
        """Whether nobody records spans and there is none to pass on. Then spans would cost time and say nothing."""
        if trace is None:
            return True
        if self.provider is not None or not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return False
        return not trace.get_current_span().get_span_context().is_valid

    @contextmanager
    def _asking(self, name: str) -> Iterator[Trace]:
        tracer = trace.get_tracer(_TRACER, tracer_provider=self.provider)
        with tracer.start_as_current_span(name, kind=trace.SpanKind.CLIENT) as span:
            yield _carried(span)

    @contextmanager
    def _handling(self, metadata: Mapping[str, Any], attributes: Mapping[str, str]) -> Iterator[Any]:
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
