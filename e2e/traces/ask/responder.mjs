// Answers questions until it is told to end, and prints each of its spans as a line of JSON: responder.mjs PACKAGE, where PACKAGE is the
// built entry of the TypeScript SDK.
import { createRequire } from "node:module";

const require = createRequire(process.argv[2]); // the packages of OpenTelemetry that the SDK finds, too
const { context, trace } = require("@opentelemetry/api");
const { AsyncLocalStorageContextManager } = require("@opentelemetry/context-async-hooks");
const { BasicTracerProvider, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");

const exporter = {
  export(spans, done) {
    for (const span of spans) {
      const { traceId, spanId } = span.spanContext();
      console.log(JSON.stringify({ name: span.name, trace: traceId, id: spanId, parent: span.parentSpanContext?.spanId ?? "" }));
    }
    done({ code: 0 });
  },
  async shutdown() {},
};
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

const { Agent } = await import(process.argv[2]);
const agent = new Agent({ id: "typescript-responder" });
agent.onMessage("sums", (message) => ({ double: 2 * message.payload.n }));
await agent.run();
