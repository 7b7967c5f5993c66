import { environment, page } from "./environment.js";
import { badField } from "./errors.js";

/** Where a server is. */
export interface Address {
  /** What calls go to: the origin over gRPC, the base URL without a slash at its end over REST. */
  readonly url: string;
  /** What errors and log lines call it. */
  readonly name: string;
  /** The host alone, without the brackets of an IPv6 address. */
  readonly host: string;
}

/** Where a server listens that was started without settings. */
export const defaultAddresses = { grpc: "127.0.0.1:50051", rest: "http://127.0.0.1:8000" } as const;

/**
 * The address of a gRPC server that is given as `host:port`, `http://host:port` or `https://host:port`. `trusts` says that certificates
 * to trust were given.
 *
 * @throws InvalidArgumentError that names the setting
 */
export function grpcAddress(server: string | undefined, tls: boolean | undefined, trusts = false): Address {
  const { setting, value } = settled("server", server, "OPENINTENT_SERVER", defaultAddresses.grpc);
  const [, scheme, host, port] = /^(?:(https?):\/\/)?(\[[^\]]+\]|[^\s:/?#@\\[\]]+):(\d{1,5})\/?$/.exec(value) ?? [];
  const encrypted = tls ?? (encryptedByDefault() || trusts);
  const url = parsed(`${scheme ?? (encrypted ? "https" : "http")}://${host}:${port}`);
  if (host === undefined || url === undefined || url.port === "0") {
    const form = "must be host:port, http://host:port or https://host:port, with a port from 1 to 65535";
    throw badField(setting, `${form}, and ${JSON.stringify(value)} is not`);
  }
  return { url: url.origin, name: `${host}:${port}`, host: hostOf(url) };
}

/**
 * The address of a REST server that is given as a base URL; in a page, a path will do.
 *
 * @throws InvalidArgumentError that names the setting
 */
export function restAddress(given: string | undefined): Address {
  const { setting, value } = settled("url", given, "OPENINTENT_URL", defaultAddresses.rest);
  const base = value.replace(/\/+$/, "");
  const here = page();
  const whole = /^https?:\/\//.test(base);
  const url = whole || (here !== undefined && /^(\/[^/\\]|$)/.test(base)) ? parsed(base, here) : undefined;
  if (url === undefined || url.port === "0" || url.search + url.hash + url.username + url.password !== "") {
    const form = `must be a URL such as ${defaultAddresses.rest}${here === undefined ? "" : ", or a path such as /openintent"}`;
    throw badField(setting, `${form}, and ${JSON.stringify(value)} is not`);
  }
  return { url: base, name: whole ? base : url.origin + base, host: hostOf(url) };
}

/** Whether connections are encrypted when nothing else says it. */
function encryptedByDefault(): boolean {
  const text = environment("OPENINTENT_TLS") ?? "0";
  if (!["1", "true", "0", "false"].includes(text.toLowerCase())) {
    throw badField("OPENINTENT_TLS", `must be 1 or 0, not ${JSON.stringify(text)}`);
  }
  return ["1", "true"].includes(text.toLowerCase());
}

/** Whether a host is this machine, under a name that leads nowhere else. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** A setting's value, with the name under which it was given. */
function settled(
  option: string,
  given: string | undefined,
  variable: string,
  fallback: string,
): { setting: string; value: string } {
  return given === undefined
    ? { setting: variable, value: environment(variable) ?? fallback }
    : { setting: option, value: String(given) };
}

function parsed(text: string, base?: URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** The host alone, without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}
