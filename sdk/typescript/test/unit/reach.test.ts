import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import type { Delivery } from "../../src/agent/server.js";
import { errorFrom, NotFoundError } from "../../src/errors.js";
import { ReachLevel, ReachService } from "../../src/generated/openintent/v1/reach_pb.js";
import { SubscriptionService } from "../../src/generated/openintent/v1/subscriptions_pb.js";
import { GrpcAgentServer } from "../../src/grpc/agent-server.js";
import type { GrpcConnection } from "../../src/grpc/connection.js";
import { GrpcTransport } from "../../src/grpc/transport.js";
import { OpenIntentClient as RestClient } from "../../src/rest.js";
import type { Reach } from "../../src/types.js";
import { fakeClient } from "./fakes.js";
import { delivery, play, StreamingServer } from "./streaming.js";

const attempt = { signal: new AbortController().signal };
const probe = (probeId: string): Delivery => ({ number: 0, standingBy: false, received: [], digest: null, probeId });
const unhandled = async (): Promise<void> => assert.fail("no handler may run");
const unknown: Reach = {
  agentId: "bob",
  level: "unknown",
  paths: [],
  lastHeardAt: null,
  lastOfferedAt: null,
  lastSurfacedAt: null,
  surfacesInMs: null,
  waiting: null,
};
const known: Reach = {
  agentId: "ann",
  level: "live",
  paths: [
    { kind: "stream", since: new Date(1_000), provenAt: new Date(2_000) },
    { kind: "webhook", since: new Date(3_000), provenAt: null },
  ],
  lastHeardAt: new Date(4_000),
  lastOfferedAt: new Date(5_000),
  lastSurfacedAt: new Date(6_000),
  surfacesInMs: 0,
  waiting: { count: 7, oldestAt: new Date(8_000) },
};

/** A connection to a server that knows the reach of ann and bob, and whose stream brings a probe and then a delivery. */
function connection(told: unknown[]): GrpcConnection {
  const at = (seconds: number): ReturnType<typeof timestampFromMs> => timestampFromMs(seconds * 1_000);
  const transport = createRouterTransport(({ service }) => {
    service(SubscriptionService, {
      async *streamDeliveries({ subscriptionId, probes }) {
        told.push(["stream", subscriptionId, probes]);
        yield { probeId: "p1" };
        yield { number: 1n };
      },
    });
    service(ReachService, {
      getReach: ({ agentId }) =>
        agentId === "bob"
          ? { agentId, level: ReachLevel.UNKNOWN }
          : {
              agentId,
              level: ReachLevel.LIVE,
              paths: [
                { kind: "stream", since: at(1), provenAt: at(2) },
                { kind: "webhook", since: at(3) },
              ],
              lastHeardAt: at(4),
              lastOfferedAt: at(5),
              lastSurfacedAt: at(6),
              surfacesInMs: 0n,
              waiting: { count: 7, oldestAt: at(8) },
            },
      confirmProbe({ agentId, probeId }) {
        told.push(["confirm", agentId, probeId]);
        return {};
      },
    });
  });
  return {
    subscriptions: createClient(SubscriptionService, transport),
    reach: createClient(ReachService, transport),
    call: (_: unknown, make: (options: object) => unknown) => make({}),
    stream: (_: unknown, open: (options: object) => unknown) => open({}),
  } as unknown as GrpcConnection;
}

test("an agent confirms probes without a handler, and reads its inbox no further time", async () => {
  const server = new StreamingServer([[probe("p1"), probe("p2")]]);
  let takeovers = 0;
  await play(server, unhandled, { tookOver: () => takeovers++ });
  assert.deepEqual(server.confirmed, ["p1", "p2"]);
  assert.deepEqual([takeovers, server.inboxLooks, server.acknowledged], [1, 2, []]);
});

test("a probe that cannot be confirmed is left, and holds up nothing", async () => {
  const server = new StreamingServer([[probe("over"), probe("silent"), delivery(1, "a")]]);
  server.confirming = async ({ signal }) => {
    if (server.confirmed.length === 1) {
      throw errorFrom({ code: "NOT_FOUND", reason: "PROBE_NOT_FOUND", message: "The probe is over." });
    }
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const handled: string[] = [];
  const { log } = await play(server, async ({ message }) => void handled.push(message.id));
  assert.deepEqual([server.confirmed, handled, server.acknowledged], [["over", "silent"], ["a"], [1]]);
  assert.deepEqual(log, ["info agent me is connected to here and receives"]);
});

test("an agent asks for probes on its stream, and says its name with a confirmation", async () => {
  const told: unknown[] = [];
  const agent = new GrpcAgentServer(connection(told), { id: "me" });
  const came: [number, string | undefined][] = [];
  for await (const { number, probeId } of agent.deliveries("sub_1", 100, () => {}, attempt)) {
    came.push([number, probeId]);
  }
  await agent.confirm("p1", attempt);
  assert.deepEqual(came, [
    [0, "p1"],
    [1, undefined],
  ]);
  assert.deepEqual(told, [
    ["stream", "sub_1", true],
    ["confirm", "me", "p1"],
  ]);
});

test("the reach of an agent is read over gRPC", async () => {
  const transport = new GrpcTransport(connection([]));
  assert.deepEqual(await transport.getReach("ann", attempt), known);
  assert.deepEqual(await transport.getReach("bob", attempt), unknown);
});

test("the reach of an agent is read over REST", async () => {
  const time = (seconds: number): string => new Date(seconds * 1_000).toISOString();
  const nothing = { last_heard_at: null, last_offered_at: null, last_surfaced_at: null, surfaces_in_ms: null };
  const answers: Record<string, object> = {
    "/v1/agents/ann/reach": {
      agent_id: "ann",
      level: "live",
      paths: [
        { kind: "stream", since: time(1), proven_at: time(2) },
        { kind: "webhook", since: time(3), proven_at: null },
      ],
      last_heard_at: time(4),
      last_offered_at: time(5),
      last_surfaced_at: time(6),
      surfaces_in_ms: 0,
      waiting: { count: 7, oldest_at: time(8) },
    },
    "/v1/agents/bob/reach": { agent_id: "bob", level: "unknown", paths: [], ...nothing },
  };
  const fetch = async (url: string): Promise<Response> => new Response(JSON.stringify(answers[new URL(url).pathname]));
  const client = new RestClient({ url: "http://127.0.0.1:1", fetch, apiKey: "k" });
  assert.deepEqual(await client.reach("ann"), known);
  assert.deepEqual(await client.reach("bob"), unknown);
});

test("a client that may not know an agent's reach gets the refusal", async () => {
  const client = fakeClient({
    async getReach() {
      throw errorFrom({ code: "NOT_FOUND", reason: "AGENT_NOT_FOUND", message: "There is no such agent." });
    },
  });
  await assert.rejects(client.reach("ann"), { constructor: NotFoundError, reason: "AGENT_NOT_FOUND" });
  await assert.rejects(client.reach("ann", { timeot: 1 } as object), /timeot/);
});
