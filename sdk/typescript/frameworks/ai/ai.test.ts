import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CutShortError, inbox, run, tools } from "@openintent/channels/ai";
import { OpenIntentClient } from "@openintent/channels";
import { streamText, ToolLoopAgent, type ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { holdsTheBar, onEachEngine, Talk } from "../bar/bar.js";
import { exampleAnswers } from "../bar/example.js";
import type { Server } from "../bar/server.js";
import { resultOf, streamingModel, textsOf } from "./fake-model.js";

holdsTheBar(new URL("./agent.js", import.meta.url));
exampleAnswers(new URL("./example.js", import.meta.url), ["--import", new URL("./fake-provider.js", import.meta.url).href]);

type Play = (talk: Talk, mailbox: ReturnType<OpenIntentClient["mailbox"]>) => Promise<void>;

/** Plays a scene with the mailbox of an agent in this process. */
async function scene(server: Server, agent: string, play: Play): Promise<void> {
  const talk = await Talk.begin(server, fileURLToPath(import.meta.url), agent);
  const client = new OpenIntentClient({ server: server.address, agentId: agent });
  const mailbox = client.mailbox(agent);
  try {
    await mailbox.take(); // It is open: what is sent from now on comes.
    await talk.tells("which schema?");
    await new Promise<void>((resolve) => mailbox.wake(resolve));
    await play(talk, mailbox);
  } finally {
    await mailbox.close();
    client.close();
    await talk.end();
  }
}

onEachEngine((server) => {
  test("a stream that ended settles, and one that was cancelled does not", () =>
    scene(server(), "streamer", async (talk, mailbox) => {
      const words = ["It", " rains."];
      const cancelling = new AbortController();
      const cancelled = run(mailbox, async () => {
        const { textStream } = streamText({ model: streamingModel(words, false), prompt: "Go.", abortSignal: cancelling.signal, ...inbox(mailbox) });
        for await (const _ of textStream) {
          cancelling.abort();
        }
      });
      await assert.rejects(cancelled, CutShortError);
      const left = run(mailbox, async () => {
        for await (const _ of streamText({ model: streamingModel(words, true), prompt: "Go.", ...inbox(mailbox) }).textStream) {
          break;
        }
      });
      await assert.rejects(left, CutShortError);
      assert.equal(mailbox.waiting, 1);
      const model = streamingModel(words, true);
      assert.equal(await run(mailbox, async () => streamText({ model, prompt: "Go.", ...inbox(mailbox) }).text), "It rains.");
      assert.match(textsOf(model.doStreamCalls[0]!.prompt).join("\n"), /which schema/);
      await mailbox.close();
      await talk.leaves();
    }));

  test("settings that build the messages anew lose nothing, and an end that fails settles nothing", () =>
    scene(server(), "builder", async (talk, mailbox) => {
      const prompts: string[] = [];
      const model = new MockLanguageModelV4({
        doGenerate: async ({ prompt }) => {
          prompts.push(textsOf(prompt).join("\n"));
          return resultOf(prompts.length < 3 ? { calls: [{ id: `call-${prompts.length}`, tool: "read", args: { message_id: "msg_1" } }] } : { say: "Done." });
        },
      });
      const agent = new ToolLoopAgent({
        model,
        tools: await tools(mailbox),
        ...inbox(mailbox, {
          prepareStep: ({ initialMessages, responseMessages }) => ({ messages: [...initialMessages, ...responseMessages] as ModelMessage[] }),
          onEnd: () => {
            throw new Error("the history is full");
          },
        }),
      });
      await assert.rejects(run(mailbox, async () => agent.generate({ prompt: "Go." })), CutShortError);
      assert.deepEqual(prompts.map((prompt) => prompt.split("which schema?").length - 1), [1, 1, 1]);
      await mailbox.close();
      await talk.leaves("which schema?");
    }));

  test("outside a run nothing is taken", () =>
    scene(server(), "outsider", async (talk, mailbox) => {
      const model = new MockLanguageModelV4({ doGenerate: async () => resultOf({ say: "Done." }) });
      const agent = new ToolLoopAgent({ model, ...inbox(mailbox) });
      await agent.generate({ prompt: "Go." });
      assert.doesNotMatch(textsOf(model.doGenerateCalls[0]!.prompt).join("\n"), /which schema/);
      await mailbox.close();
      await talk.leaves("which schema?");
    }));
});
