import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Client } from "../../src/client.js";
import type { ChannelHandle } from "../../src/handle.js";
import { Agent, type AgentOptions, type Annotation } from "../../src/index.js";
import { RecordingLogger } from "../unit/fakes.js";
import { Stage, type Face } from "./stage.js";

// What the shared scenarios of conversation cannot say.

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

  open(name: string): Promise<ChannelHandle> {
    return this.#client(this.name(name)).channels.open("talk", this.#intentId);
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
  test(`reactions that are followed, over ${face}`, () =>
    Scene.play(face, async (scene) => {
      const [writer, reader] = [await scene.open("writer"), await scene.open("reader")];
      const following = writer.messages({ include: ["annotations"] });
      await following.started();
      const message = await writer.broadcast({ n: 1 });
      await reader.react(message, "working", { note: "on it" });
      await reader.unreact(message, "working");
      assert.equal(((await following.next()).value as { id: string }).id, message.id);
      for (const change of ["added", "removed"]) {
        const annotation = (await following.next()).value as Annotation;
        assert.deepEqual([annotation.type, annotation.change, annotation.signal], ["message_reaction", change, "working"]);
        assert.equal(annotation.messageId, message.id);
      }
      await following.return();
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
      const responses = await asker.askAll(`role:${role}`, { q: 1 }, { collect, timeout: 30 });
      assert.equal(new Set(responses.map(({ sender }) => sender)).size, wanted);
      assert.equal(called, wanted);
    }));
}
