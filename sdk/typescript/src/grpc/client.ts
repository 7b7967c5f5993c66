import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { grpcAddress } from "../address.js";
import { Client } from "../client.js";
import { environment } from "../environment.js";
import { badField } from "../errors.js";
import { Mailbox, type MailboxOptions } from "../mailbox/mailbox.js";
import { refuseUnknown, type Names } from "../options.js";
import { connectNames, settle, type ConnectOptions } from "../settings.js";
import { openTelemetry, type OpenTelemetryApi, type Tracing } from "../tracing.js";
import { GrpcConnection } from "./connection.js";
import { GrpcMailboxServer } from "./mailbox-server.js";
import { GrpcTransport } from "./transport.js";

/** How a client of the gRPC server connects. What is not given is taken from the environment. */
export interface ClientOptions extends ConnectOptions {
  /** `host:port`, with or without `http://` or `https://` (`OPENINTENT_SERVER`); `127.0.0.1:50051` unless given. */
  server?: string;
  /** Whether the connection is encrypted (`OPENINTENT_TLS=1`); a connection to `https://...` is too. */
  tls?: boolean;
  /** A file with the certificates to trust, in PEM form (`OPENINTENT_CA_FILE`), in place of the system's. It turns TLS on. */
  caFile?: string;
  /** For tests: whether calls go on an exchange from the first one on. */
  alwaysExchanges?: boolean;
}

export const clientNames: Names<ClientOptions> = { server: true, ...connectNames, tls: true, caFile: true, alwaysExchanges: false };

/** A client over gRPC. It connects when it is first used, and when it is idle it does not keep the program running. */
export class OpenIntentClient extends Client {
  /** For this package's runtime of agents. */
  readonly connection: GrpcConnection;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions = {}) {
    refuseUnknown("OpenIntentClient", options, clientNames);
    const ca = certificates(options.caFile);
    const address = grpcAddress(options.server, options.tls, ca !== undefined);
    const settings = settle({ ...options, tracing: options.tracing ?? installedTracing() }, address);
    const connection = new GrpcConnection(address.url, settings, ca, options.alwaysExchanges);
    super(new GrpcTransport(connection), settings);
    this.connection = connection;
    this.#options = options;
  }

  /**
   * The mailbox of an agent that is running: what came since it looked last, as texts that a model may be shown, which come again until they
   * are settled. A client that acts as nobody, or as another agent, gets a connection for it that acts as the agent, if its key may.
   */
  mailbox(agent: string, options: MailboxOptions = {}): Mailbox {
    const other = this.agentId === agent ? undefined : new OpenIntentClient({ ...this.#options, agentId: agent });
    const calls = other ?? this;
    const { transport, settings, connection } = calls;
    const server = new GrpcMailboxServer(connection, agent);
    return new Mailbox({ calls, transport, settings, server, agentId: agent }, options, mailboxName, () => other?.close());
  }
}

/** The name of a mailbox's subscription. One with other channels is another mailbox. */
export function mailboxName(channels: readonly string[] | undefined): string {
  if (channels === undefined) {
    return "mailbox";
  }
  const names = [...new Set(channels)].sort().join("\n");
  return `mailbox-${createHash("sha256").update(names).digest("hex").slice(0, 16)}`;
}

/** The certificates to trust, in PEM form; undefined for the system's. */
function certificates(given: string | undefined): string | undefined {
  const [setting, path] = given === undefined ? ["OPENINTENT_CA_FILE", environment("OPENINTENT_CA_FILE")] : ["caFile", given];
  if (path === undefined) {
    return undefined;
  }
  let read: string;
  try {
    read = readFileSync(path, "utf8");
  } catch (error) {
    throw badField(setting, `must name a file with certificates, and it cannot be read: ${(error as Error).message}`);
  }
  if (!read.includes("-----BEGIN CERTIFICATE-----")) {
    throw badField(setting, `must name a file with certificates in PEM form, and ${path} has none`);
  }
  return read;
}

/** Tracing with the program's own OpenTelemetry, when it has one. */
export function installedTracing(): Tracing | undefined {
  try {
    return openTelemetry(createRequire(import.meta.url)("@opentelemetry/api") as OpenTelemetryApi);
  } catch {
    return undefined;
  }
}
