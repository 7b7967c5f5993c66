import assert from "node:assert/strict";
import { test } from "node:test";
import { grpcAddress, isLoopback, restAddress } from "../../src/address.js";
import { InvalidArgumentError } from "../../src/errors.js";
import { grpcError } from "../../src/grpc/failure.js";
import { Agent, OpenIntentClient } from "../../src/index.js";
import { keyFor } from "../../src/key.js";
import { OpenIntentClient as RestClient } from "../../src/rest.js";
import { problemError } from "../../src/rest/failure.js";
import { Code, ConnectError } from "@connectrpc/connect";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { misspelt } from "../../src/misspelt.js";
import { fakeClient, RecordingLogger } from "./fakes.js";

/** Runs a body with these variables in the environment. */
function withEnvironment<T>(variables: Record<string, string>, body: () => T): T {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    return body();
  } finally {
    process.env = before;
  }
}

/** Runs a body as if it were in a page. */
function inPage<T>(href: string, body: () => T): T {
  const scope = globalThis as { location?: unknown };
  scope.location = { href };
  try {
    return body();
  } finally {
    delete scope.location;
  }
}

test("the address of a gRPC server is host:port, with or without a scheme", () => {
  for (const [given, tls, url, name, host] of [
    ["localhost:50051", false, "http://localhost:50051", "localhost:50051", "localhost"],
    ["localhost:50051", true, "https://localhost:50051", "localhost:50051", "localhost"],
    ["http://example.org:80/", true, "http://example.org", "example.org:80", "example.org"],
    ["https://example.org:443", undefined, "https://example.org", "example.org:443", "example.org"],
    ["[::1]:65535", undefined, "http://[::1]:65535", "[::1]:65535", "::1"],
  ] as const) {
    assert.deepEqual(grpcAddress(given, tls), { url, name, host });
  }
  const hosts = ["localhost", "localhost:", ":50051", "http://h", "a b:1", "u@h:1", ""];
  for (const given of [...hosts, "h:0", "h:65536", "h:x", "h:1/path", "ftp://h:1"]) {
    assert.throws(
      () => new OpenIntentClient({ server: given }),
      (error) => error instanceof InvalidArgumentError && /^server must be host:port, .*"/.test(error.message),
      given,
    );
  }
  withEnvironment({ OPENINTENT_SERVER: "localhost" }, () => {
    assert.throws(() => new OpenIntentClient(), /^InvalidArgumentError: OPENINTENT_SERVER must be host:port/);
  });
});

test("the environment may ask for TLS, with 1 or 0", () => {
  for (const [text, scheme] of [["1", "https"], ["TRUE", "https"], ["0", "http"], ["false", "http"]] as const) {
    withEnvironment({ OPENINTENT_TLS: text }, () => assert.equal(grpcAddress("h:1", undefined).url, `${scheme}://h:1`));
  }
  withEnvironment({ OPENINTENT_TLS: "on" }, () => {
    assert.throws(() => grpcAddress("h:1", undefined), /^InvalidArgumentError: OPENINTENT_TLS must be 1 or 0, not "on"\.$/);
  });
});

test("the address of a REST server is a URL or, in a page, a path", () => {
  for (const [given, url, host] of [
    ["http://127.0.0.1:8000/", "http://127.0.0.1:8000", "127.0.0.1"],
    ["https://example.org/openintent", "https://example.org/openintent", "example.org"],
  ] as const) {
    assert.deepEqual(restAddress(given), { url, name: url, host });
  }
  const wrong = ["127.0.0.1:8000", "localhost", "", "/openintent", "http://", "http://h:0", "http://h:65536", "http://h?x=1"];
  for (const given of wrong) {
    assert.throws(() => new RestClient({ url: given }), /^InvalidArgumentError: url must be a URL such as/, given);
  }
  withEnvironment({ OPENINTENT_URL: "localhost:8000" }, () => {
    assert.throws(() => new RestClient(), /^InvalidArgumentError: OPENINTENT_URL must be a URL/);
  });
  inPage("http://localhost:5173/app/", () => {
    assert.deepEqual(restAddress(""), { url: "", name: "http://localhost:5173", host: "localhost" });
    assert.equal(restAddress("/openintent/").name, "http://localhost:5173/openintent");
    assert.throws(() => restAddress("//elsewhere"), InvalidArgumentError);
    assert.throws(() => restAddress("openintent"), InvalidArgumentError);
  });
});

test("the development key is for servers on this machine, when no other key was given", () => {
  const at = (host: string): { url: string; name: string; host: string } => ({ url: "", name: "", host });
  for (const host of ["localhost", "127.0.0.1", "127.9.9.9", "::1"]) {
    assert.ok(isLoopback(host));
    assert.equal(keyFor(undefined, at(host)), "dev-key-001", host);
    assert.equal(keyFor("mine", at(host)), "mine");
    assert.throws(() => keyFor("", at(host)), /^InvalidArgumentError: apiKey is empty: give the key, or leave it out/);
    withEnvironment({ OPENINTENT_API_KEY: "ours" }, () => assert.equal(keyFor(undefined, at(host)), "ours"));
  }
  for (const host of ["localhost.example.org", "128.0.0.1", "127.example.org", "10.0.0.1", "example.org"]) {
    assert.equal(keyFor(undefined, at(host)), undefined, host);
  }
  assert.equal(
    inPage("http://localhost:5173/", () => keyFor(undefined, at("localhost"))),
    "dev-key-001",
  );
  assert.equal(
    inPage("https://example.org/", () => keyFor(undefined, at("127.0.0.1"))),
    undefined,
    "a page from elsewhere",
  );
});

test("an error about a missing key says where to put one", () => {
  const sentence = "This call needs an API key; send it as X-API-Key or as Authorization: Bearer.";
  const problem = { code: "UNAUTHENTICATED", reason: "API_KEY_MISSING", detail: sentence };
  const info = new BinaryWriter().tag(1, 2).string("API_KEY_MISSING").finish();
  const status = new ConnectError(sentence, Code.Unauthenticated, { "grpc-status": "16" });
  status.details = [{ type: "google.rpc.ErrorInfo", value: info }];
  const expected = "This call needs an API key: set OPENINTENT_API_KEY, or give the option apiKey.";
  assert.equal((grpcError(status, new AbortController().signal) as Error).message, expected);
  assert.equal(problemError(401, problem, null).message, expected);
  inPage("https://example.org/", () => {
    assert.equal(problemError(401, problem, null).message, "This call needs an API key: give the option apiKey.");
  });
});

test("unknown options are refused, and the nearest known one is named", async () => {
  const refused = (options: object, make: (options: any) => unknown, message: string): void =>
    assert.throws(() => make(options), { constructor: InvalidArgumentError, message });
  const client = (options: any): unknown => new OpenIntentClient(options);
  refused({ agent: "a" }, client, "OpenIntentClient has no option agent; did you mean agentId?");
  refused({ api_key: "k" }, client, "OpenIntentClient has no option api_key; did you mean apiKey?");
  refused({ key: "k" }, client, "OpenIntentClient has no option key; did you mean apiKey?");
  const all = "its options are server, apiKey, agentId, intentId, connectTimeout, logger, tracing, tls, caFile";
  refused({ host: "h" }, client, `OpenIntentClient has no option host; ${all}.`);
  const others = "its options are url, apiKey, agentId, intentId, connectTimeout, logger, tracing, fetch.";
  refused({ server: "h:1" }, (options) => new RestClient(options), `OpenIntentClient has no option server; ${others}`);
  const agent = (options: any): unknown => new Agent(options);
  refused({ id: "a", concurency: 1 }, agent, "Agent has no option concurency; did you mean concurrency?");
  assert.throws(() => agent({ id: "a", agentId: "b" }), /Agent has no option agentId; its options are id, role,/);
  assert.ok(client({ agent: undefined }), "what is not given does no harm");
  assert.throws(() => client("localhost:50051"), /The options of OpenIntentClient must be an object\./);

});

test("an empty agent or key is refused, and says what to do", () => {
  for (const empty of ["", " ", "\n"]) {
    for (const make of [(o: object) => new OpenIntentClient(o), (o: object) => new RestClient(o)]) {
      const says = "is empty: give the agent's id, or leave it out, so that the environment decides.";
      assert.throws(() => make({ agentId: empty }), { constructor: InvalidArgumentError, message: `agentId ${says}` });
      assert.throws(() => make({ apiKey: empty }), /^InvalidArgumentError: apiKey is empty/);
    }
  }
  assert.throws(() => new OpenIntentClient({ connectTimeout: 0 }), /connectTimeout must be a number of seconds above 0/);
  assert.throws(() => new Agent({ id: "a", connectTimeout: -1 }), /connectTimeout must be a number of seconds above 0/);
});

test("misspelt variables are told once", () => {
  const meant: Record<string, string | null> = {
    ...{ APIKEY: "API_KEY", KEY: "API_KEY", API_KYE: "API_KEY", AGENT: "AGENT_ID", AGENTID: "AGENT_ID", SEVER: "SERVER" },
    ...{ TLSS: "TLS", CAFILE: "CA_FILE", URI: "URL", INTENTID: "INTENT_ID" },
    ...{ SERVER: null, API_KEYS: null, INTENT: null, RETENTION: null, TLS_CERT: null, TSL: null },
  };
  for (const [name, known] of Object.entries(meant)) {
    const sentence = `OPENINTENT_${name} is no setting and has no effect; did you mean OPENINTENT_${known}?`;
    assert.deepEqual(misspelt({ HOME: "/", [`OPENINTENT_${name}`]: "x" }), known === null ? [] : [sentence]);
    assert.deepEqual(misspelt({ [`OPENINTENT_${name}`]: "" }), []);
  }
  const logger = new RecordingLogger();
  withEnvironment({ OPENINTENT_SERVR: "host:1" }, () => [1, 2].forEach(() => new OpenIntentClient({ logger }).close()));
  assert.deepEqual(logger.lines, ["warn OPENINTENT_SERVR is no setting and has no effect; did you mean OPENINTENT_SERVER?"]);
});

test("unknown options of calls are refused, too", async () => {
  const client: any = fakeClient({});
  const calls: [Promise<unknown>, string][] = [
    [client.ask("c", "to", {}, { timout: 1 }), "ask has no option timout; did you mean timeout?"],
    [client.ask("c", "to", {}, 30), "The options of ask must be an object."],
    [client.askAll("c", "to", {}, { min_responses: 1 }), "askAll has no option min_responses; did you mean minResponses?"],
    [client.askAllIter("c", "to", {}, { zzz: 1 }).next(), "askAllIter has no option zzz; its options are "],
    [client.sendMessage("c", {}, { type: "notify" }), "send has no option type; did you mean messageType?"],
    [client.channels.open("c", "i", { member: ["a"] }), "channels.open has no option member; did you mean members?"],
    [client.channels.open("c", "i", { options: { ttl: 1 } }), "The channel has no option ttl; did you mean ttlSeconds?"],
    [client.intents.create("t", { policy: "closed" }), "intents.create has no option policy; did you mean defaultPolicy?"],
  ];
  for (const [call, message] of calls) {
    const says = (error: Error): boolean => error instanceof InvalidArgumentError && error.message.startsWith(message);
    await assert.rejects(call, says, message);
  }
  assert.throws(() => client.follow("c", { since: 1 }), InvalidArgumentError);
});
