import { MastraLanguageModelV2Mock, simulateReadableStream } from "@mastra/core/test-utils/llm-mock";
import type { Action, Script } from "../bar/script.js";

type Config = ConstructorParameters<typeof MastraLanguageModelV2Mock>[0];
type Generate = Extract<NonNullable<Config["doGenerate"]>, (...given: never) => unknown>;
type Stream = Extract<NonNullable<Config["doStream"]>, (...given: never) => unknown>;
type Chunk = Awaited<ReturnType<Stream>>["stream"] extends ReadableStream<infer Part> ? Part : never;
type Prompt = Parameters<Generate>[0]["prompt"];

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

/** A model that does what a script says. */
export function scriptedModel(script: Script): MastraLanguageModelV2Mock {
  const doGenerate: Generate = async ({ prompt }) => {
    const action = await script.next(textsOf(prompt));
    return { content: contentOf(action), finishReason: reasonOf(action), usage, warnings: [] };
  };
  const doStream: Stream = async ({ prompt }) => {
    const action = await script.next(textsOf(prompt));
    const chunks: Chunk[] = [{ type: "stream-start", warnings: [] }];
    for (const part of contentOf(action)) {
      chunks.push(
        ...(part.type === "text"
          ? ([{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: part.text }, { type: "text-end", id: "1" }] as const)
          : [part]),
      );
    }
    chunks.push({ type: "finish", finishReason: reasonOf(action), usage });
    return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
  };
  return new MastraLanguageModelV2Mock({ doGenerate, doStream });
}

const reasonOf = ({ calls = [] }: Action): "tool-calls" | "stop" => (calls.length > 0 ? "tool-calls" : "stop");

function contentOf({ say, calls = [] }: Action) {
  return [
    ...calls.map(({ id, tool, args }) => ({ type: "tool-call" as const, toolCallId: id, toolName: tool, input: JSON.stringify(args) })),
    ...(say ? [{ type: "text" as const, text: say }] : []),
  ];
}

/** Each text of a prompt, after the role of who said it. */
function textsOf(prompt: Prompt): string[] {
  return prompt.flatMap(({ role, content }) => {
    const parts: readonly { type: string; text?: string; output?: object }[] =
      typeof content === "string" ? [{ type: "text", text: content }] : content;
    return parts.map((part) => `${role}: ${part.text ?? String((part.output as { value?: unknown } | undefined)?.value ?? part.type)}`);
  });
}
