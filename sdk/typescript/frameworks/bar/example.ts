import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { AgentProcess } from "./agent-process.js";
import { onEachEngine, Talk } from "./bar.js";

/** The agent of the examples. */
const researcher = "researcher";

/** What the model of an example does: it answers the first question that it is shown, and then it is done. */
export function exampleCall(prompt: string): { message_id: string; text: string } | undefined {
  const line = prompt.split("\n").find((line) => line.startsWith('{"id":"'));
  return line === undefined || prompt.includes("Your answer is stored.") ? undefined : { message_id: JSON.parse(line).id, text: "v2.3" };
}

/** Checks that an example, as people read it, answers what it is asked, and ends cleanly. `arguments_` are those of Node.js. */
export function exampleAnswers(example: URL, arguments_: readonly string[] = []): void {
  onEachEngine((server) => {
    test("the example answers what it is asked, and ends at SIGTERM", { timeout: 900_000 }, async () => {
      const model = await FakeOpenAI.start();
      const talk = await Talk.begin(server(), fileURLToPath(example), researcher);
      try {
        const asked = await talk.asks();
        const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "none" };
        const agent = AgentProcess.run([...arguments_, fileURLToPath(example)], server().address, env);
        assert.deepEqual(await talk.answered(asked), [{ text: "v2.3" }]);
        agent.terminate();
        assert.equal(await agent.ended(), 0);
        await talk.leaves();
      } finally {
        await talk.end();
        model.stop();
      }
    });
  });
}

/** A model behind the API for chat completions, which many programs speak. */
class FakeOpenAI {
  private constructor(private readonly server: HttpServer) {}

  static async start(): Promise<FakeOpenAI> {
    const server = createServer((request, response) => void complete(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FakeOpenAI(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

interface Said {
  readonly content: string | readonly { text?: string }[] | null;
}

async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { messages, stream } = JSON.parse(await text(request)) as { messages: readonly Said[]; stream?: boolean };
  const contents = messages.map(({ content }) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join("\n")));
  const call = exampleCall(contents.join("\n"));
  const called = { index: 0, id: "call-1", type: "function", function: { name: "answer", arguments: JSON.stringify(call) } };
  const said = call === undefined ? { role: "assistant", content: "Done." } : { role: "assistant", content: null, tool_calls: [called] };
  const choice = { index: 0, finish_reason: call === undefined ? "stop" : "tool_calls" };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const common = { id: "chatcmpl-1", created: 0, model: "fake", usage };
  if (stream) {
    response.setHeader("content-type", "text/event-stream");
    response.write(`data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices: [{ ...choice, delta: said }] })}\n\n`);
    response.end("data: [DONE]\n\n");
  } else {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...common, object: "chat.completion", choices: [{ ...choice, message: said }] }));
  }
}
