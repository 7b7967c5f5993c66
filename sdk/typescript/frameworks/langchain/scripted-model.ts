import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import type { Script } from "../bar/script.js";

/** A model that does what a script says. LangChain's own fake ones cannot wait before they answer. */
export class ScriptedModel extends BaseChatModel {
  constructor(private readonly script: Script) {
    super({ maxRetries: 0 });
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const { say = "", calls = [] } = await this.script.next(messages.map((message) => `${message.getType()}: ${message.text}`));
    const toolCalls = calls.map(({ id, tool, args }) => ({ id, name: tool, args, type: "tool_call" as const }));
    return { generations: [{ text: say, message: new AIMessage({ content: say, tool_calls: toolCalls }) }] };
  }
}
