import { customProvider } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { exampleCall } from "../bar/example.js";
import { resultOf, textsOf } from "./fake-model.js";

// Loaded before the example, so that every name of a model is this fake one.
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const call = exampleCall(textsOf(prompt).join("\n"));
    return resultOf(call === undefined ? { say: "Done." } : { calls: [{ id: "call-1", tool: "answer", args: call }] });
  },
});
globalThis.AI_SDK_DEFAULT_PROVIDER = customProvider({ languageModels: { "openai/gpt-5.2": model } });
