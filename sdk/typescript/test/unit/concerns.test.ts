import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import type { ConcernPage } from "../../src/concerns.js";
import { ConcernAction, ConcernKind, ConcernService } from "../../src/generated/openintent/v1/concern_pb.js";
import type { GrpcConnection } from "../../src/grpc/connection.js";
import { GrpcTransport } from "../../src/grpc/transport.js";
import { OpenIntentClient as RestClient } from "../../src/rest.js";
import { fakeClient } from "./fakes.js";

const attempt = { signal: new AbortController().signal };
const filters = { kind: "dead_letters", intentId: "i", agentId: "ann", limit: 2, cursor: "from" } as const;
const page: ConcernPage = {
  concerns: [
    {
      id: "con_1",
      kind: "question",
      since: new Date(1_000),
      intentId: "i",
      channelId: "c",
      messageId: "m",
      agentId: "ann",
      subscriptionId: null,
      taskId: null,
      summary: "ann asks.",
      actions: ["answer", "decline"],
    },
    {
      id: "con_2",
      kind: "dead_letters",
      since: new Date(2_000),
      intentId: null,
      channelId: null,
      messageId: null,
      agentId: null,
      subscriptionId: "s",
      taskId: null,
      summary: "Dead.",
      actions: [],
    },
    {
      id: "con_3",
      kind: "holder_lost",
      since: new Date(3_000),
      intentId: "i",
      channelId: null,
      messageId: null,
      agentId: "bob",
      subscriptionId: null,
      taskId: "t",
      summary: "Lost.",
      actions: ["reassign"],
    },
  ],
  nextCursor: "on",
};

test("concerns are read over gRPC", async () => {
  const asked: unknown[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(ConcernService, {
      listConcerns({ kind, intentId, agentId, limit, cursor }) {
        asked.push([kind, intentId, agentId, limit, cursor]);
        const [since, later, last] = [timestampFromMs(1_000), timestampFromMs(2_000), timestampFromMs(3_000)];
        const actions = [ConcernAction.ANSWER, ConcernAction.DECLINE];
        const about = { intentId: "i", channelId: "c", messageId: "m", agentId: "ann" };
        const lost = { intentId: "i", agentId: "bob", taskId: "t" };
        return {
          concerns: [
            { id: "con_1", kind: ConcernKind.QUESTION, since, ...about, summary: "ann asks.", actions },
            { id: "con_2", kind: ConcernKind.DEAD_LETTERS, since: later, subscriptionId: "s", summary: "Dead." },
            { id: "con_3", kind: ConcernKind.HOLDER_LOST, since: last, ...lost, summary: "Lost.", actions: [ConcernAction.REASSIGN] },
          ],
          nextCursor: "on",
        };
      },
    });
  });
  const connection = {
    concerns: createClient(ConcernService, transport),
    call: (_: unknown, make: (options: object) => unknown) => make({}),
  } as unknown as GrpcConnection;
  assert.deepEqual(await new GrpcTransport(connection).listConcerns(filters, attempt), page);
  assert.deepEqual(asked, [[ConcernKind.DEAD_LETTERS, "i", "ann", 2, "from"]]);
});

test("concerns are read over REST", async () => {
  const asked: string[] = [];
  const nothing = { intent_id: null, channel_id: null, message_id: null, agent_id: null, subscription_id: null, task_id: null };
  const about = { intent_id: "i", channel_id: "c", message_id: "m", agent_id: "ann" };
  const first = { ...nothing, ...about, id: "con_1", kind: "question", since: "1970-01-01T00:00:01Z", summary: "ann asks." };
  const second = { ...nothing, id: "con_2", kind: "dead_letters", since: "1970-01-01T00:00:02Z", summary: "Dead." };
  const third = { ...nothing, id: "con_3", kind: "holder_lost", since: "1970-01-01T00:00:03Z", summary: "Lost." };
  const answer = {
    concerns: [
      { ...first, actions: ["answer", "decline"] },
      { ...second, subscription_id: "s", actions: [] },
      { ...third, intent_id: "i", agent_id: "bob", task_id: "t", actions: ["reassign"] },
    ],
    next_cursor: "on",
  };
  const fetch = async (url: string): Promise<Response> => {
    asked.push(url);
    return new Response(JSON.stringify(answer));
  };
  const client = new RestClient({ url: "http://127.0.0.1:1", fetch, apiKey: "k" });
  assert.deepEqual(await client.concerns(filters), page);
  await client.concerns();
  const [narrowed, all] = asked.map((url) => new URL(url));
  assert.deepEqual(Object.fromEntries(narrowed!.searchParams), {
    kind: "dead_letters",
    intent_id: "i",
    agent_id: "ann",
    limit: "2",
    cursor: "from",
  });
  assert.equal(all!.pathname + all!.search, "/v1/concerns");
});

test("an option that does not exist is refused", async () => {
  await assert.rejects(fakeClient({}).concerns({ agent: "ann" } as object), /agent/);
});
