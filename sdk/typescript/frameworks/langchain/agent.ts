import { inbox, serve, tools } from "@openintent/channels/langchain";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { createAgent, tool } from "langchain";
import { config, consultDescription, drainSeconds, helperScript, lookDescription, mailbox, script } from "../bar/child.js";
import { FileSaver } from "./file-saver.js";
import { ScriptedModel } from "./scripted-model.js";

const nothing = { type: "object", properties: {} } as const;
const look = tool(async () => "Clouds.", { name: "look", description: lookDescription, schema: nothing });
const helper = createAgent({ name: "helper", model: new ScriptedModel(helperScript), tools: [look] });
const consult = tool(
  async () => {
    const { messages } = await helper.invoke({ messages: [{ role: "user", content: "What is the weather?" }] });
    return String(messages.at(-1)!.content);
  },
  { name: "consult", description: consultDescription, schema: nothing },
);
const all: StructuredToolInterface[] = [...(await tools(mailbox, { suspends: true })), consult, look];
const agent = createAgent({
  name: config.agent,
  model: new ScriptedModel(script),
  tools: all,
  middleware: [await inbox(mailbox)],
  checkpointer: new FileSaver(config.state),
});
await serve(agent, mailbox, { drainSeconds });
