import assert from "node:assert/strict";
import { createSecureServer } from "node:http2";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Agent } from "../../src/agent/agent.js";
import { InvalidArgumentError, UnavailableError } from "../../src/errors.js";
import { OpenIntentClient, type ClientOptions } from "../../src/index.js";
import { RecordingLogger, still } from "./fakes.js";
import { listening } from "./listening.js";

/** A certificate for 127.0.0.1 and openintent.test, signed by itself, and its key. The tests of the Python SDK have it too. */
const caFile = "../python/tests/unit/certificate.pem";
const cert = readFileSync(caFile);
const key = readFileSync("../python/tests/unit/key.pem");

async function refusal(options: ClientOptions): Promise<string> {
  const client = new OpenIntentClient({ ...options, clock: still });
  const calls = [client.getChannel("c"), client.follow("c").next()];
  const texts = new Set<string>();
  for (const call of calls) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.equal(error.reason, "TLS_FAILED");
      texts.add(error.message);
      return true;
    });
  }
  client.close();
  assert.equal(texts.size, 1);
  return [...texts][0]!;
}

test("mistakes in TLS fail at once, with the reason and what to do", { timeout: 60_000 }, async () => {
  const encrypted = createSecureServer({ cert, key });
  const plain = createServer();
  const [secure, open] = [await listening(encrypted), await listening(plain)];
  const port = secure.split(":")[1];

  const needs = `The server at ${secure} speaks TLS, and this client does not: set OPENINTENT_TLS=1, or give the address as https://${secure}.`;
  assert.equal(await refusal({ server: secure }), needs);
  const none = `The server at ${open} does not speak TLS, and this client does: give the address without https://, and no setting for TLS.`;
  assert.equal(await refusal({ server: `https://${open}` }), none);
  const remedy = "Name a file with the certificates to trust in OPENINTENT_CA_FILE, or as caFile.";
  const failed = `TLS with the server at ${secure} failed`;
  assert.equal(
    await refusal({ server: secure, tls: true }),
    `${failed}: its certificate is not trusted (self-signed certificate). ${remedy}`,
  );
  assert.equal(
    await refusal({ server: `localhost:${port}`, caFile }),
    `TLS with the server at localhost:${port} failed: its certificate is for another name than localhost.`,
  );

  const agent = new Agent({ id: "me", server: secure, logger: new RecordingLogger() });
  await assert.rejects(agent.run({ signal: new AbortController().signal }), { reason: "TLS_FAILED", message: needs });
  encrypted.close();
  plain.close();
});

test("a file of certificates turns TLS on and is trusted", { timeout: 60_000 }, async () => {
  const encrypted = createSecureServer({ cert, key });
  encrypted.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "5", "grpc-message": "none" }, { endStream: true });
  });
  const client = new OpenIntentClient({ server: await listening(encrypted), caFile });
  await assert.rejects(client.getChannel("c"), { code: "NOT_FOUND" });
  client.close();
  encrypted.close();
});

test("a file without certificates is refused", () => {
  const made = (file: string): OpenIntentClient => new OpenIntentClient({ caFile: file });
  const refused = (message: RegExp): object => ({ constructor: InvalidArgumentError, message });
  assert.throws(() => made("/does/not/exist.pem"), refused(/^caFile must name a file with certificates, and it cannot be read: ENOENT/));
  assert.throws(() => made("package.json"), refused(/^caFile must name a file with certificates in PEM form, and package.json has none\.$/));
});
