import { badField } from "./errors.js";
import { systemClock, type Clock } from "./clock.js";
import { noTracing, type Tracing } from "./tracing.js";

/** How a client connects. What is not given is taken from the environment. */
export interface ConnectOptions {
  /** The API key (`OPENINTENT_API_KEY`). */
  apiKey?: string;
  /** The agent that this client acts as (`OPENINTENT_AGENT_ID`); none: a bound key's own agent, or the operator. */
  agentId?: string;
  /** Makes the spans: `openTelemetry(api)`. */
  tracing?: Tracing;
  /** For tests: the clock. */
  clock?: Clock;
}

/** The settings that every client has. */
export interface Settings {
  readonly apiKey: string | undefined;
  readonly agentId: string | undefined;
  readonly tracing: Tracing;
  readonly clock: Clock;
}

/** A variable of the process's environment; undefined in browsers, and when it is empty. */
export function environment(name: string): string | undefined {
  const process = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process;
  return process?.env?.[name] || undefined;
}

export function settle(options: ConnectOptions): Settings {
  return {
    apiKey: options.apiKey ?? environment("OPENINTENT_API_KEY"),
    agentId: options.agentId ?? environment("OPENINTENT_AGENT_ID"),
    tracing: options.tracing ?? noTracing,
    clock: options.clock ?? systemClock,
  };
}

/** The headers that say who calls; the same over gRPC, as metadata. */
export function identity(settings: Settings): Record<string, string> {
  return {
    ...(settings.apiKey !== undefined && { "x-api-key": settings.apiKey }),
    ...(settings.agentId !== undefined && { "x-agent-id": settings.agentId }),
  };
}

/** The URL of a gRPC server given as `host:port`, `http://host:port` or `https://host:port`. */
export function grpcUrl(server: string | undefined, tls: boolean | undefined): string {
  const given = server ?? environment("OPENINTENT_SERVER") ?? "127.0.0.1:50051";
  const encrypted = tls ?? ["1", "true"].includes(environment("OPENINTENT_TLS") ?? "");
  const text = /^https?:\/\//.test(given) ? given : `${encrypted ? "https" : "http"}://${given}`;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw badField("server", `must be host:port, and ${JSON.stringify(given)} is not`);
  }
  return url.origin;
}

/** The base URL of a REST server, without a slash at its end. */
export function restUrl(url: string | undefined): string {
  return (url ?? environment("OPENINTENT_URL") ?? "http://127.0.0.1:8000").replace(/\/+$/, "");
}
