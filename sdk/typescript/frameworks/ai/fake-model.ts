import type { LanguageModelV4GenerateResult, LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import type { Action, Script } from "../bar/script.js";

/** A model that does what a script says. */
export function fakeModel(script: Script): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => resultOf(await script.next(textsOf(prompt))),
  });
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

export function resultOf({ say = "", calls = [] }: Action): LanguageModelV4GenerateResult {
  const reason = calls.length > 0 ? "tool-calls" : "stop";
  return {
    content: [
      ...calls.map(({ id, tool, args }) => ({ type: "tool-call" as const, toolCallId: id, toolName: tool, input: JSON.stringify(args) })),
      ...(say ? [{ type: "text" as const, text: say }] : []),
    ],
    finishReason: { unified: reason, raw: reason },
    usage,
    warnings: [],
  };
}

/** Each text of a prompt, after the role of who said it. */
export function textsOf(prompt: LanguageModelV4Prompt): string[] {
  return prompt.flatMap(({ role, content }) => {
    const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    return parts.map((part) => `${role}: ${textOf(part)}`);
  });
}

function textOf(part: { type: string; text?: string; output?: object }): string {
  return part.text ?? String((part.output as { value?: unknown } | undefined)?.value ?? part.type);
}

/** A model that streams so many words, and ends, or goes on for ever. */
export function streamingModel(words: readonly string[], ends: boolean): MockLanguageModelV4 {
  const parts: LanguageModelV4StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...words.map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
  ];
  const end: LanguageModelV4StreamPart[] = [
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
  ];
  return new MockLanguageModelV4({
    doStream: async ({ abortSignal }) => ({ stream: ends ? convertArrayToReadableStream([...parts, ...end]) : endless(parts, abortSignal) }),
  });
}

function endless(parts: readonly LanguageModelV4StreamPart[], signal: AbortSignal | undefined): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      parts.forEach((part) => controller.enqueue(part));
      signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
}
