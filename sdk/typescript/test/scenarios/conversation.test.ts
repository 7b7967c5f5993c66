import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Client } from "../../src/client.js";
import type { ChannelHandle } from "../../src/handle.js";
import { Agent, AnsweredError, ClaimedError, ClaimLostError, type AgentOptions, type Annotation } from "../../src/index.js";
import { RecordingLogger } from "../unit/fakes.js";
import { Stage, type Face } from "./stage.js";

/** An intent with a channel, and names that nobody else has. */
class Scene {
  readonly #stage = new Stage();
  readonly #clients: Client[] = [];
  readonly #agents: Agent[] = [];
  readonly #run = randomBytes(4).toString("hex");
  #intentId = "";

  constructor(private readonly face: Face) {}

  static async play(face: Face, story: (scene: Scene) => Promise<void>): Promise<void> {
    const scene = new Scene(face);
    try {
      scene.#intentId = (await scene.#client(undefined).intents.create("Converse")).id;
      await story(scene);
    } finally {
      await Promise.all(scene.#agents.map((agent) => agent.leave()));
      scene.#clients.forEach((client) => client.close());
    }
  }

  name(name: string): string {
    return `${name}-${this.#run}`;
  }

  #client(agentId: string | undefined): Client {
    const client = this.#stage.client(this.face, agentId);
    this.#clients.push(client);
    return client;
  }

  async open(name: string): Promise<{ client: Client; channel: ChannelHandle }> {
    const client = this.#client(this.name(name));
    return { client, channel: await client.channels.open("talk", this.#intentId) };
  }

  async start(name: string, add: (agent: Agent) => void, options: Partial<AgentOptions> = {}): Promise<void> {
    const agent = new Agent({ ...this.#stage.connection(), id: this.name(name), logger: new RecordingLogger(), ...options });
    add(agent);
    void agent.run({ signal: new AbortController().signal });
    this.#agents.push(agent);
    await agent.started();
  }
}

for (const face of ["grpc", "rest"] as const) {
  test(`threads, over ${face}`, () =>
    Scene.play(face, async (scene) => {
      const [writer, reader] = [await scene.open("writer"), await scene.open("reader")];
      const root = await writer.channel.broadcast({ text: "Shall we?" }, { subject: "A plan", kind: "agent.chat", priority: "high" });
      const answer = await reader.channel.broadcast({ text: "Yes" }, { parent: root });
      const further = await writer.channel.broadcast({ text: "Good" }, { parent: answer.id });
      assert.deepEqual([root.subject, root.kind, root.priority, root.parentId], ["A plan", "agent.chat", "high", null]);
      assert.deepEqual([answer.parentId, further.parentId, further.threadId], [root.id, answer.id, root.id]);
      const thread = await reader.channel.thread(further);
      const below = thread.messages.map(({ id }) => id).filter((id) => id !== root.id);
      assert.deepEqual([thread.root?.id, ...below], [root.id, answer.id, further.id]);
      assert.deepEqual(new Set(thread.participants), new Set([scene.name("writer"), scene.name("reader")]));
      const listed = await reader.client.listMessages(reader.channel.id, { threadId: root.id });
      assert.deepEqual(listed.map(({ id }) => id), [root.id, answer.id, further.id]);
    }));

  test(`reactions, over ${face}`, () =>
    Scene.play(face, async (scene) => {
      const [writer, reader] = [await scene.open("writer"), await scene.open("reader")];
      const following = writer.channel.messages({ include: ["annotations"] });
      await following.started();
      const message = await writer.channel.broadcast({ n: 1 });
      await reader.channel.react(message, "working", { note: "on it", eta: "soon" });
      const [reaction, ...others] = await writer.channel.reactions(message);
      assert.deepEqual([reaction?.agentId, reaction?.signal, reaction?.note], [scene.name("reader"), "working", "on it"]);
      assert.deepEqual(others, []);
      assert.deepEqual(await reader.channel.unreact(message, "working"), []);
      assert.equal(((await following.next()).value as { id: string }).id, message.id);
      for (const change of ["added", "removed"]) {
        const annotation = (await following.next()).value as Annotation;
        assert.deepEqual([annotation.type, annotation.change, annotation.signal], ["message_reaction", change, "working"]);
        assert.equal(annotation.messageId, message.id);
      }
      await following.return();
    }));

  test(`claims, over ${face}`, () =>
    Scene.play(face, async (scene) => {
      const [asker, one, other] = [await scene.open("asker"), await scene.open("one"), await scene.open("other")];
      const role = scene.name("r");
      await scene.start("one", () => {}, { role });
      await scene.start("other", () => {}, { role });
      const to = `role:${role}`;
      const request = await asker.channel.send({ q: 1 }, { to, messageType: "request", collect: "one" });
      const reply = (by: typeof one, fence: number) => by.client.replyTo(by.channel.id, request.id, { a: 1 }, { fence });
      await one.channel.withClaim(request, async ({ fence }) => {
        await assert.rejects(other.channel.withClaim(request, () => {}), ClaimedError);
        await assert.rejects(reply(other, fence - 1), ClaimLostError);
        assert.equal((await reply(one, fence)).correlationId, request.id);
      });
      await assert.rejects(other.channel.withClaim(request, () => {}), AnsweredError);
    }));

  test(`mentions, over ${face}`, () =>
    Scene.play(face, async (scene) => {
      const asker = await scene.open("asker");
      const me = scene.name("me");
      const request = await asker.channel.send({ text: "please" }, { to: me, messageType: "request", mentions: [me] });
      assert.deepEqual(request.mentions, [me]);
      const { attention, rules } = await asker.channel.attention(request, { agentId: me });
      const { reason, policy, directedness } = attention!;
      assert.deepEqual([reason, policy, directedness], ["mention", "must_respond", "to_me"]);
      assert.ok(rules.length > 0);
      await scene.start("me", (agent) => {
        agent.onMessage(() => ({ reason: "another handler" }));
        agent.onMention((message) => ({ reason: message.attention?.reason })); // It finds the request in its inbox.
      });
      const answer = await asker.client.resumeAsk(asker.channel.id, request.id, { timeout: 30 });
      assert.deepEqual(answer.payload, { reason: "mention" });
    }));
}

for (const [collect, wanted] of [["one", 1], [{ quorum: 2 }, 2]] as const) {
  test(`collect ${JSON.stringify(collect)}`, () =>
    Scene.play("grpc", async (scene) => {
      const role = scene.name("r");
      let called = 0;
      for (const name of ["a", "b", "c", "d"]) {
        await scene.start(name, (agent) => agent.onMessage(() => ({ n: ++called })), { role });
      }
      const asker = await scene.open("asker");
      const responses = await asker.channel.askAll(`role:${role}`, { q: 1 }, { collect, timeout: 30 });
      assert.equal(new Set(responses.map(({ sender }) => sender)).size, wanted);
      assert.equal(called, wanted);
    }));
}
