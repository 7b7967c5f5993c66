import { createRequire } from "node:module";
import { grpcAddress } from "../address.js";
import { Client } from "../client.js";
import { refuseUnknown, type Names } from "../options.js";
import { connectNames, settle, type ConnectOptions } from "../settings.js";
import { openTelemetry, type OpenTelemetryApi, type Tracing } from "../tracing.js";
import { GrpcConnection } from "./connection.js";
import { GrpcTransport } from "./transport.js";

/** How a client of the gRPC server connects. What is not given is taken from the environment. */
export interface ClientOptions extends ConnectOptions {
  /** `host:port`, with or without `http://` or `https://` (`OPENINTENT_SERVER`); `127.0.0.1:50051` unless given. */
  server?: string;
  /** Whether the connection is encrypted (`OPENINTENT_TLS=1`); a connection to `https://...` is too. */
  tls?: boolean;
}

export const clientNames: Names<ClientOptions> = { server: true, ...connectNames, tls: true };

/** A client over gRPC. It connects when it is first used, and when it is idle it does not keep the program running. */
export class OpenIntentClient extends Client {
  /** For this package's runtime of agents. */
  readonly connection: GrpcConnection;

  constructor(options: ClientOptions = {}) {
    refuseUnknown("OpenIntentClient", options, clientNames);
    const address = grpcAddress(options.server, options.tls);
    const settings = settle({ ...options, tracing: options.tracing ?? installedTracing() }, address);
    const connection = new GrpcConnection(address.url, settings);
    super(new GrpcTransport(connection), settings);
    this.connection = connection;
  }
}

/** Tracing with the program's own OpenTelemetry, when it has one. */
export function installedTracing(): Tracing | undefined {
  try {
    return openTelemetry(createRequire(import.meta.url)("@opentelemetry/api") as OpenTelemetryApi);
  } catch {
    return undefined;
  }
}
