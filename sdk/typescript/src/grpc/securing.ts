import { connect } from "node:tls";
import type { ConnectError } from "@connectrpc/connect";
import { linkedAbort, type Clock } from "../clock.js";
import { errorFrom, tlsFailed, type OpenIntentError } from "../errors.js";

/** How long to look whether a server speaks TLS, in milliseconds. */
const patience = 2_000;

const wrongName = "ERR_TLS_CERT_ALTNAME_INVALID";
const noTls = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "ERR_SSL_HTTP_REQUEST"]);
/** What Node.js says of a certificate that it does not trust, but for its name. */
const untrusted = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The error for a connection that failed because of TLS, with what to do about it; undefined for any other failure. */
export function tlsError(server: string, { cause }: ConnectError): OpenIntentError | undefined {
  const { code, message } = Object(cause) as { code?: unknown; message?: unknown };
  const failed = `TLS with the server at ${server} failed`;
  const name = String(code);
  if (noTls.has(name)) {
    const remedy = "give the address without https://, and no setting for TLS";
    return refused(`The server at ${server} does not speak TLS, and this client does: ${remedy}.`);
  }
  if (name === wrongName) {
    return refused(`${failed}: its certificate is for another name than ${server.replace(/:\d+$/, "")}.`);
  }
  if (untrusted.test(name)) {
    const remedy = "Name a file with the certificates to trust in OPENINTENT_CA_FILE, or as caFile.";
    return refused(`${failed}: its certificate is not trusted (${String(message)}). ${remedy}`);
  }
  return name === "EPROTO" || name.startsWith("ERR_SSL_") ? refused(`${failed}: ${String(message)}`) : undefined;
}

/** The error of a client without TLS that met a server with it. */
export function needsTls(server: string): OpenIntentError {
  const remedy = `set OPENINTENT_TLS=1, or give the address as https://${server}`;
  return refused(`The server at ${server} speaks TLS, and this client does not: ${remedy}.`);
}

/** Whether a server begins a connection of TLS. Nothing is sent but a greeting. */
export function speaksTls(origin: string, signal: AbortSignal, clock: Clock): Promise<boolean> {
  const { hostname, port } = new URL(origin);
  const either = linkedAbort(signal);
  const stop = clock.after(patience, () => either.abort());
  return new Promise<boolean>((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const socket = connect({ host, port: Number(port || 80), ALPNProtocols: ["h2"], rejectUnauthorized: false });
    const ended = (speaks: boolean): void => {
      resolve(speaks);
      socket.destroy();
    };
    socket.once("secureConnect", () => ended(true));
    socket.once("close", () => ended(false));
    // A server that refuses the handshake in TLS's own words speaks it.
    socket.on("error", ({ code }: NodeJS.ErrnoException) => ended(/^ERR_SSL_.*ALERT/.test(code ?? "")));
    either.signal.addEventListener("abort", () => ended(false));
  }).finally(() => {
    stop();
    either.release();
  });
}

function refused(message: string): OpenIntentError {
  return errorFrom({ code: "UNAVAILABLE", reason: tlsFailed, message });
}
