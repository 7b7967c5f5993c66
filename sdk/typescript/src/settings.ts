import type { Address } from "./address.js";
import { systemClock, type Clock } from "./clock.js";
import { environment } from "./environment.js";
import { keyFor } from "./key.js";
import type { Names } from "./options.js";
import { noTracing, type Tracing } from "./tracing.js";

/** How a client connects. What is not given is taken from the environment. */
export interface ConnectOptions {
  /** The API key (`OPENINTENT_API_KEY`); for a server on this machine `dev-key-001` unless given. An empty one stands for none. */
  apiKey?: string;
  /** The agent that this client acts as (`OPENINTENT_AGENT_ID`); none: a bound key's own agent, or the operator. */
  agentId?: string;
  /** Makes the spans: `openTelemetry(api)`. */
  tracing?: Tracing;
  /** For tests: the clock. */
  clock?: Clock;
}

export const connectNames: Names<ConnectOptions> = { apiKey: true, agentId: true, tracing: true, clock: false };

/** The settings that every client has. */
export interface Settings {
  /** What errors call the server. */
  readonly server: string;
  readonly apiKey: string | undefined;
  readonly agentId: string | undefined;
  readonly tracing: Tracing;
  readonly clock: Clock;
}

export function settle(options: ConnectOptions, server: Address): Settings {
  return {
    server: server.name,
    apiKey: keyFor(options.apiKey, server),
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
