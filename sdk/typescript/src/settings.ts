import { defaultAddresses, isLoopback, type Address } from "./address.js";
import { checkAgentId } from "./bounds.js";
import { systemClock, type Clock } from "./clock.js";
import { environment } from "./environment.js";
import { badField } from "./errors.js";
import { keyFor, refuseEmpty } from "./key.js";
import { warnOfMisspelt } from "./misspelt.js";
import type { Names } from "./options.js";
import { Outage, warn, type Warned } from "./outage.js";
import { noTracing, type Tracing } from "./tracing.js";

/** How a client connects. What is not given is taken from the environment. */
export interface ConnectOptions {
  /** The API key (`OPENINTENT_API_KEY`); for a server on this machine `dev-key-001` unless given. An empty one stands for none. */
  apiKey?: string;
  /** The agent that this client acts as (`OPENINTENT_AGENT_ID`); none: a bound key's own agent, or the operator. */
  agentId?: string;
  /** The intent of calls that name none (`OPENINTENT_INTENT_ID`). */
  intentId?: string;
  /** How many seconds a call is tried for while there is no connection; without it, as long as the call's deadline says. */
  connectTimeout?: number;
  /** Takes warnings: that the server cannot be reached, and that an environment variable is misspelt; `console` unless given. */
  logger?: Warned;
  /** Makes the spans: `openTelemetry(api)`. */
  tracing?: Tracing;
  /** For tests: the clock. */
  clock?: Clock;
  /** For this package's agents, whose log says that the server cannot be reached. */
  agentTells?: boolean;
}

export const connectNames: Names<ConnectOptions> = { apiKey: true, agentId: true, intentId: true, connectTimeout: true, logger: true, tracing: true, clock: false, agentTells: false };

/** The settings that every client has. */
export interface Settings {
  /** What errors call the server. */
  readonly server: string;
  readonly apiKey: string | undefined;
  readonly agentId: string | undefined;
  readonly intentId: string | undefined;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly connectTimeout: number | undefined;
  readonly outage: Outage;
  /** The command that starts a server there; undefined when that is not on this machine. */
  readonly start: string | undefined;
}

export function settle(options: ConnectOptions, server: Address): Settings {
  const { connectTimeout, logger = console } = options;
  if (connectTimeout !== undefined && !(connectTimeout > 0)) {
    throw badField("connectTimeout", "must be a number of seconds above 0");
  }
  refuseEmpty("agentId", "the agent's id", options.agentId);
  refuseEmpty("intentId", "the intent's id", options.intentId);
  if (options.agentId !== undefined) {
    checkAgentId("agentId", options.agentId);
  }
  const named = environment("OPENINTENT_AGENT_ID");
  if (options.agentId === undefined && named !== undefined) {
    checkAgentId("OPENINTENT_AGENT_ID", named);
  }
  warnOfMisspelt((text) => warn(logger, text));
  return {
    server: server.name,
    apiKey: keyFor(options.apiKey, server),
    agentId: options.agentId ?? named,
    intentId: options.intentId ?? environment("OPENINTENT_INTENT_ID"),
    tracing: options.tracing ?? noTracing,
    clock: options.clock ?? systemClock,
    connectTimeout,
    outage: new Outage(server.name, options.agentTells ? null : logger),
    start: isLoopback(server.host) ? startingCommand(server.name) : undefined,
  };
}

/**
 * The intent that was given to a call or, without one, the client's.
 *
 * @throws InvalidArgumentError without either
 */
export function intentFor(call: string, given: string | undefined, { intentId }: Pick<Settings, "intentId">): string {
  const id = given ?? intentId;
  if (id !== undefined && typeof id !== "string") {
    throw badField("intentId", "must be the id of an intent, such as intent.id, and no object");
  }
  if (id === undefined) {
    throw badField("intentId", `is missing: ${call} needs an intent, as an argument, as the option intentId of the client, or in OPENINTENT_INTENT_ID`);
  }
  return id;
}

/** The command that starts a server at an address of this machine. */
function startingCommand(name: string): string {
  const { grpc, rest } = defaultAddresses;
  const target = name.replace(/^https?:\/\//, "");
  if ([grpc, rest].some((usual) => [usual, usual.replace("127.0.0.1", "localhost")].includes(name))) {
    return "openintent serve";
  }
  return `openintent serve ${target === name ? "--grpc-addr" : "--http-addr"} ${target.replace(/\/.*$/, "")}`;
}

/** The headers that say who calls; the same over gRPC, as metadata. */
export function identity(settings: Settings): Record<string, string> {
  return {
    ...(settings.apiKey !== undefined && { "x-api-key": settings.apiKey }),
    ...(settings.agentId !== undefined && { "x-agent-id": settings.agentId }),
  };
}
