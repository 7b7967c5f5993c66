"""Asks one question on the channel of an intent, and prints each of its spans as a line of JSON.

    asker.py INTENT_ID CHANNEL RESPONDER
"""

import json
import sys

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from openintent_channels import OpenIntentClient


def line(span) -> str:
    parent = format(span.parent.span_id, "016x") if span.parent else ""
    context = span.context
    fields = {"name": span.name, "trace": format(context.trace_id, "032x"), "id": format(context.span_id, "016x"), "parent": parent}
    return json.dumps(fields) + "\n"


def main() -> None:
    intent_id, name, responder = sys.argv[1:]
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=line)))
    trace.set_tracer_provider(provider)
    with OpenIntentClient(agent_id="python-asker") as client:
        client.channels.open(name, intent_id).ask(responder, {"n": 21}, timeout=60)
    provider.shutdown()


main()
