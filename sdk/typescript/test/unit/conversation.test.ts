import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Answering } from "../../src/agent/answering.js";
import { AgentLog } from "../../src/agent/log.js";
import { Handlers, type Handler } from "../../src/agent/message.js";
import { Reporting } from "../../src/agent/reporting.js";
import type { Received } from "../../src/agent/server.js";
import { needsClaim, Turns } from "../../src/agent/turns.js";
import type { Attention } from "../../src/conversation-types.js";
import { AlreadyExistsError, AnsweredError, ClaimedError, ClaimLostError, errorFrom, InvalidArgumentError } from "../../src/errors.js";
import { ChannelSchema } from "../../src/generated/openintent/v1/channels_pb.js";
import { MessageSchema } from "../../src/generated/openintent/v1/messages_pb.js";
import { toConversation as toGrpcConversation } from "../../src/grpc/conversation-convert.js";
import { toChannel as toGrpcChannel } from "../../src/grpc/convert.js";
import { toConversation as toRestConversation } from "../../src/rest/conversation-convert.js";
import { toChannel as toRestChannel } from "../../src/rest/convert.js";
import { noTracing } from "../../src/tracing.js";
import type { ConversationTransport, ReplyRequest, SendRequest, Transport } from "../../src/transport.js";
import type { Message } from "../../src/types.js";
import { fakeServer } from "./fake-agent-server.js";
import { channel, FakeClock, fakeClient, lost as lostConnection, message, RecordingLogger } from "./fakes.js";

const refusal = (code: "ALREADY_EXISTS" | "FAILED_PRECONDITION", reason: string): Error =>
  errorFrom({ code, reason, message: "refused" });
const claimed = refusal("ALREADY_EXISTS", "CLAIMED");
const answered = refusal("FAILED_PRECONDITION", "ANSWERED");
const lost = refusal("FAILED_PRECONDITION", "CLAIM_LOST");

/** A conversation that grants claims with the fence 7, and keeps what it is told. */
function conversation(told: string[], renewal: () => void = () => {}, first: () => void = () => {}): ConversationTransport {
  const calls: Partial<ConversationTransport> = {
    async claim(_place, _ttl, { fence }) {
      told.push(fence === undefined ? "claim" : `renew ${fence}`);
      (fence === undefined ? first : renewal)();
      return { fence: 7, expiresAt: new Date(0) };
    },
    async releaseClaim(_place, fence) {
      told.push(`release ${fence}`);
    },
    async setDisposition(_channelId, messageId, disposition) {
      told.push(`${disposition} ${messageId}`);
    },
    async addReaction(_channelId, messageId, signal, { note }) {
      told.push(`${signal} ${messageId} ${note}`);
      return [];
    },
  };
  return calls as ConversationTransport;
}

const request: Partial<Message> = { messageType: "request", to: "role:r", collect: "one" };

interface Stage {
  told: string[];
  handle: (received?: Partial<Received>, fields?: Partial<Message>, last?: boolean) => Promise<string>;
}

/** An agent's answering, with what it tells the server. */
function stage(
  handlers: Handlers,
  calls: Partial<Transport> = {},
  how: { attends?: boolean; skip?: boolean; renewal?: () => void; first?: () => void } = {},
): Stage {
  const told: string[] = [];
  const clock = new FakeClock();
  const sent = (kind: string, { payload, said, idempotencyKey }: SendRequest | ReplyRequest): Message => {
    told.push(`${kind} ${idempotencyKey} ${JSON.stringify(payload)} ${JSON.stringify(said ?? null)}`);
    return message("stored");
  };
  const client = fakeClient(
    {
      conversation: conversation(told, how.renewal, how.first),
      replyMessage: async (asked) => sent("reply", asked),
      sendMessage: async (asked) => sent(`${asked.messageType} to ${asked.to}`, asked),
      markRead: async (_channelId, id) => {
        told.push(`read ${id}`);
        return message(id);
      },
      ...calls,
    },
    clock,
  );
  const server = fakeServer({
    async surface(ids) {
      told.push(`surfaced ${ids}`);
    },
  });
  const { signal } = new AbortController();
  const log = new AgentLog("me", "here", new RecordingLogger(), clock);
  const reports = how.attends || how.skip ? new Reporting(client, server, clock, signal) : null;
  const answering = new Answering(client, handlers, noTracing, signal, log, reports, how.skip ?? false);
  const handle: Stage["handle"] = async (received = {}, fields = request, last = true) => {
    const whole = { message: message("m", fields), intentId: "i", channelName: "c", position: 1, attempt: 1, ...received };
    const outcome = await answering.handle(whole, last);
    await reports?.finished();
    return outcome;
  };
  return { told, handle };
}

function with_(handler: Handler): Handlers {
  const handlers = new Handlers();
  handlers.add(undefined, handler);
  return handlers;
}

const attention = (reason: string, policy: Attention["policy"] = "may_respond"): Attention => ({
  directedness: "to_me",
  policy,
  injection: "buffered",
  reason,
  priority: "normal",
  deadlineMs: null,
  claim: null,
  knock: null,
});

test("an edit says only what it changes, and a deletion is repeated after a lost connection", async () => {
  const told: unknown[] = [];
  const failures = [lostConnection()];
  const calls: Partial<ConversationTransport> = {
    async editMessage(asked) {
      told.push(asked);
      return message("m", { revision: 2 });
    },
    async deleteMessage({ messageId }) {
      told.push(messageId);
      if (failures.length > 0) {
        throw failures.pop();
      }
      return message(messageId);
    },
  };
  const handle = fakeClient({ conversation: calls as ConversationTransport }).handle(channel("c"));
  assert.equal((await handle.edit(message("m"), { payload: { n: 1 } })).revision, 2);
  await handle.edit("m", { subject: "", mentions: [] });
  await handle.delete("m");
  const place = { channelId: "chan_1", messageId: "m" };
  assert.deepEqual(told, [{ ...place, payload: { n: 1 } }, { ...place, subject: "", mentions: [] }, "m", "m"]);
});

test("what a message says reaches the transport, and a plain one says nothing more", async () => {
  const asked: SendRequest[] = [];
  const client = fakeClient({
    async sendMessage(sent) {
      asked.push(sent);
      return message("m");
    },
  });
  await client.sendMessage("c", {}, { parent: message("p"), subject: "s", mentions: [], collect: { quorum: 2 }, priority: "high" });
  await client.sendMessage("c", {});
  const [first, plain] = asked;
  assert.deepEqual(first?.said, { parentId: "p", subject: "s", mentions: [], collect: { quorum: 2 }, priority: "high" });
  assert.ok(!("said" in plain!));
  const misspelt = { subjekt: "x" } as object;
  await assert.rejects(client.sendMessage("c", {}, misspelt), InvalidArgumentError);
});

test("a document says so, and what it replaces", async () => {
  const asked: SendRequest[] = [];
  const client = fakeClient({
    async sendMessage(sent) {
      asked.push(sent);
      return message("m", { document: true });
    },
  });
  const first = await client.sendMessage("c", {}, { kind: "spec", document: true, replaces: "" });
  assert.ok(first.document && !message("other").document);
  await client.sendMessage("c", {}, { kind: "spec", document: true, replaces: first });
  assert.deepEqual(asked[0]?.said, { kind: "spec", document: true, replaces: "" }, "there must be none yet");
  assert.deepEqual(asked[1]?.said, { kind: "spec", document: true, replaces: "m" });
  const asDocument = { document: true } as object;
  await assert.rejects(client.replyTo("c", "m", {}, asDocument), InvalidArgumentError);
});

test("a message's document and a channel's address are read over gRPC and REST", () => {
  const wire = { id: "m", created_at: "2026-02-13T10:00:00Z" };
  assert.ok(toGrpcConversation(create(MessageSchema, { document: true })).document);
  assert.ok(!toGrpcConversation(create(MessageSchema)).document);
  assert.ok(toRestConversation({ document: true }).document);
  assert.ok(!toRestConversation({}).document);
  const createdAt = { seconds: 1n, nanos: 0 };
  assert.equal(toGrpcChannel(create(ChannelSchema, { address: "VK47", createdAt, memberPolicy: 1, status: 1 })).address, "VK47");
  assert.equal(toRestChannel({ ...wire, address: "VK47" }).address, "VK47");
  assert.equal(toRestChannel(wire).address, null);
});

test("a claim renews itself, and is released with its fence", async () => {
  const told: string[] = [];
  const clock = new FakeClock();
  const client = fakeClient({ conversation: conversation(told) }, clock);
  await client.withClaim("c", "m", async (claim) => {
    assert.equal(claim.fence, 7);
    while (clock.time < 60_000) {
      await new Promise((resolve) => clock.after(10_000, () => resolve(null)));
    }
  });
  assert.deepEqual(told.slice(0, 3), ["claim", "renew 7", "renew 7"].slice(0, told.length - 1).slice(0, 3));
  assert.equal(told.at(-1), "release 7");
});

test("a lost claim aborts its signal and is thrown; one that an answer ended is no error", async () => {
  const hold = (failure: Error): Promise<void> => {
    const client = fakeClient({
      conversation: conversation([], () => {
        throw failure;
      }),
    });
    return client.withClaim("c", "m", ({ signal }) =>
      failure === lost
        ? new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined)))
        : new Promise((resolve) => setImmediate(resolve)),
    );
  };
  await assert.rejects(hold(lost), ClaimLostError);
  await hold(answered);
});

test("who gets no claim does not work", async () => {
  const refuse = (): never => {
    throw claimed;
  };
  const client = fakeClient({ conversation: conversation([], undefined, refuse) });
  await assert.rejects(
    client.withClaim("c", "m", () => assert.fail("it worked")),
    (error) => error instanceof ClaimedError && error instanceof AlreadyExistsError,
  );
  assert.ok(answered instanceof AnsweredError);
});

test("requests to roles that take certain numbers of answers need claims", () => {
  const needs = (fields: Partial<Message>): boolean => needsClaim(message("m", { ...request, ...fields }));
  assert.ok(needs({}) && needs({ collect: { quorum: 2 } }));
  for (const fields of [{ collect: null }, { collect: "all" as const }, { to: "agent" }, { messageType: "notify" as const }]) {
    assert.ok(!needs(fields));
  }
});

test("an agent claims, and answers under the fence", async () => {
  const { told, handle } = stage(with_(() => ({ a: 1 })));
  assert.equal(await handle(), "done");
  assert.deepEqual(told, ["claim", 'reply sdk-reply-m {"a":1} {"fence":7}']);
});

test("a plain request costs what it did", async () => {
  const { told, handle } = stage(with_(() => ({ a: 1 })));
  assert.equal(await handle({}, { messageType: "request", to: "role:r" }), "done");
  assert.deepEqual(told, ['reply sdk-reply-m {"a":1} null']);
});

test("a handler is not called while others hold the claims, or when the request has its answers", async () => {
  for (const [failure, outcome] of [
    [claimed, "taken"],
    [answered, "done"],
  ] as const) {
    const refuse = (): never => {
      throw failure;
    };
    const { told, handle } = stage(with_(() => assert.fail("it was called")), {}, { first: refuse });
    assert.equal(await handle(), outcome);
    assert.deepEqual(told, ["claim"]);
  }
});

test("failures release the claim, and only the last one answers", async () => {
  const fail = with_(() => {
    throw new Error("oh no");
  });
  const early = stage(fail);
  assert.equal(await early.handle({}, request, false), "failed");
  assert.deepEqual(early.told, ["claim", "failed m", "release 7"]);
  const last = stage(fail);
  assert.equal(await last.handle({}, request, true), "done");
  assert.deepEqual(last.told.slice(0, 1), ["claim"]);
  assert.match(last.told[1]!, /^reply sdk-reply-m .*oh no.* \{"fence":7\}$/);
});

test("turns wait longer after failures, and end with the attempts or with the request", () => {
  const turns = new Turns(new FakeClock(), message("m"));
  assert.ok(!turns.last);
  assert.deepEqual([turns.wait("taken"), turns.wait("taken"), turns.wait("failed"), turns.wait("failed")], [750, 1500, 2250, 4500]);
  assert.ok(turns.last);
  assert.ok(new Turns(new FakeClock(), message("m", { expiresAt: new Date(Date.now() + 1_000) })).last);
});

test("a reply to what is no request is a message under it", async () => {
  const { told, handle } = stage(
    with_(async (received) => {
      await received.reply({ thanks: true }, { subject: "ack" });
      await received.react("working", { note: "soon" });
    }),
  );
  await handle({}, { messageType: "broadcast", sender: "asker" });
  assert.deepEqual(told, [
    'notify to asker sdk-reply-m-1 {"thanks":true} {"parentId":"m","subject":"ack"}',
    "working m soon",
  ]);
});

test("a handler answers under a claim of its own", async () => {
  const { told, handle } = stage(with_((received) => received.withClaim(() => received.reply({ a: 1 })).then(() => null)));
  await handle({}, { messageType: "request", to: "me" });
  assert.deepEqual(told, ["claim", 'reply sdk-reply-m-1 {"a":1} {"fence":7}', "release 7", "read m"]);
});

test("an agent that leaves out what is not for it asks for a claim all the same", async () => {
  const { told, handle } = stage(with_(() => ({ a: 1 })), {}, { skip: true });
  await handle({ attention: attention("claimed_by_other", "must_not_respond") });
  const [first, second] = told.filter((said) => !said.startsWith("surfaced"));
  assert.deepEqual([first, second], ["claim", 'reply sdk-reply-m {"a":1} {"fence":7}']);
});

test("an agent that attends tells what became of messages", async () => {
  const handlers = with_(() => null);
  handlers.add("c", () => ({ ignored: true }), "mention");
  const { told, handle } = stage(handlers, {}, { attends: true, skip: true });
  await handle({ attention: attention("thread") }, { messageType: "broadcast" });
  await handle({ attention: attention("ambient", "must_not_respond") }, { messageType: "broadcast" });
  await handle({ attention: attention("mention") }, { messageType: "request", to: "me" });
  assert.deepEqual(told, [
    "surfaced m",
    "acknowledged m",
    "ignored m",
    'reply sdk-reply-m {"ignored":true} null',
    "surfaced m",
  ]);
});
