import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { context, trace, type Span } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Agent, OpenIntentClient } from "../../src/index.js";
import { Stage } from "./stage.js";

// An ask is one trace when the program has OpenTelemetry, which the package finds by itself.

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
after(() => provider.shutdown());

test("an ask is one trace across the asker and the responder", { timeout: 60_000 }, async () => {
  const connection = new Stage().connection();
  const run = randomBytes(4).toString("hex");
  const agent = new Agent({ id: `traced-${run}`, ...connection });
  let within: Span | undefined;
  agent.onMessage(() => {
    within = trace.getActiveSpan();
    return { ok: true };
  });
  const running = agent.run({ signal: new AbortController().signal });
  const client = new OpenIntentClient({ agentId: `asker-${run}`, ...connection });
  const intent = await client.intents.create("Trace an ask");
  const channel = await client.channels.open("traced", intent.id, { options: { audit: true } });
  const response = await trace.getTracer("test").startActiveSpan("root", async (root) => {
    const given = await channel.ask(agent.id, {}, { timeout: 20 });
    root.end();
    return given;
  });
  await agent.leave();
  await running;

  const [ask, handle, root, reply] = ["openintent.ask", "openintent.handle", "root", "openintent.reply"].map((name) => {
    const found = exporter.getFinishedSpans().find((span) => span.name === name);
    assert.ok(found, `${name} has ended`);
    return found;
  });
  assert.equal(ask!.parentSpanContext?.spanId, root!.spanContext().spanId);
  assert.equal(handle!.parentSpanContext?.spanId, ask!.spanContext().spanId);
  assert.equal(reply!.parentSpanContext?.spanId, handle!.spanContext().spanId);
  assert.equal(within?.spanContext().spanId, handle!.spanContext().spanId, "the handler runs in its span");
  const { traceId, spanId } = ask!.spanContext();
  assert.equal(reply!.spanContext().traceId, traceId);
  const request = await client.getMessage(channel.id, response.correlationId!);
  assert.deepEqual(request.metadata, { traceparent: `00-${traceId}-${spanId}-01`, trace_id: traceId });
});

test("without a trace nothing is added to a message", { timeout: 60_000 }, async () => {
  const { noTracing } = await import("../../src/tracing.js");
  const client = new OpenIntentClient({ agentId: "untraced", ...new Stage().connection(), tracing: noTracing });
  const intent = await client.intents.create("Trace nothing");
  const channel = await client.channels.open("untraced", intent.id);
  assert.deepEqual((await channel.send({})).metadata, {});
});
