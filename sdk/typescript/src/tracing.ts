import type { JsonObject } from "./types.js";

/** Where a span stands, as others may know it. */
export interface Trace {
  /** The W3C trace context that names it. */
  readonly traceparent: string;
  /** 32 hexadecimal digits. */
  readonly traceId: string;
}

/** A span that was started. */
export interface Span {
  /** Null where nothing is traced. */
  readonly trace: Trace | null;
  /** Runs a body inside the span. */
  run<T>(body: () => T): T;
  /** Ends the span, as failed when there is an error. */
  end(error?: unknown): void;
}

/** Makes spans. Get one with `openTelemetry(api)`. */
export interface Tracing {
  start(name: string, kind: "client" | "server", attributes: Record<string, string>, parent?: string): Span;
}

const nothing: Span = { trace: null, run: (body) => body(), end: () => {} };

/** Traces nothing. */
export const noTracing: Tracing = { start: () => nothing };

/** Runs a body in a span, which ends with it. */
export async function inSpan<T>(span: Span, body: (trace: Trace | null) => Promise<T>): Promise<T> {
  try {
    const result = await span.run(() => body(span.trace));
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** Adds a trace to a message's metadata; entries that are there already stay. */
export function traced(metadata: JsonObject, trace: Trace | null): JsonObject {
  return trace === null ? metadata : { traceparent: trace.traceparent, trace_id: trace.traceId, ...metadata };
}

interface SpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
  isRemote?: boolean;
}

interface ApiSpan {
  spanContext(): SpanContext;
  recordException(error: Error): void;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/**
 * The parts of the package `@opentelemetry/api`, any version 1, that are used here; `C` is its Context. They are written
 * down so that the types of this package do not need that one.
 */
export interface OpenTelemetryApi<C = any> {
  context: { active(): C; with<R>(context: C, body: () => R): R };
  trace: {
    getTracer(name: string): {
      startSpan(name: string, options: { kind: number; attributes: Record<string, string> }, context: C): any;
    };
    setSpan(context: C, span: any): C;
    setSpanContext(context: C, spanContext: SpanContext): C;
  };
}

// The numbers of OpenTelemetry's SpanKind and SpanStatusCode.
const kinds = { server: 1, client: 2 } as const;
const failed = 2;

/** Traces with OpenTelemetry; `api` is the package `@opentelemetry/api`. */
export function openTelemetry(api: OpenTelemetryApi): Tracing {
  const tracer = api.trace.getTracer("@openintent/channels");
  return {
    start(name, kind, attributes, parent) {
      let context = api.context.active();
      const remote = parent === undefined ? null : parseTraceparent(parent);
      if (remote !== null) {
        context = api.trace.setSpanContext(context, remote);
      }
      const span: ApiSpan = tracer.startSpan(name, { kind: kinds[kind], attributes }, context);
      const within = api.trace.setSpan(context, span);
      return {
        trace: traceOf(span.spanContext()),
        run: (body) => api.context.with(within, body),
        end(error) {
          if (error !== undefined) {
            const message = error instanceof Error ? error.message : String(error);
            span.recordException(error instanceof Error ? error : new Error(message));
            span.setStatus({ code: failed, message });
          }
          span.end();
        },
      };
    },
  };
}

/** The trace of a span; null for those that OpenTelemetry makes while the program has set nothing up. */
function traceOf(context: SpanContext): Trace | null {
  if (!/[1-9a-f]/.test(context.traceId)) {
    return null;
  }
  const flags = context.traceFlags.toString(16).padStart(2, "0");
  return { traceparent: `00-${context.traceId}-${context.spanId}-${flags}`, traceId: context.traceId };
}

/** Reads a W3C trace context; null when the text is not one. */
export function parseTraceparent(text: string): SpanContext | null {
  const found = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/.exec(text);
  if (!found || !/[1-9a-f]/.test(found[1]!) || !/[1-9a-f]/.test(found[2]!)) {
    return null;
  }
  return { traceId: found[1]!, spanId: found[2]!, traceFlags: parseInt(found[3]!, 16), isRemote: true };
}
