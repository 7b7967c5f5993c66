import { readFileSync, writeFileSync } from "node:fs";
import { inbox, serve, tools } from "@openintent/channels/ai";
import { jsonSchema, tool, ToolLoopAgent, type ModelMessage } from "ai";
import { config, consultDescription, drainSeconds, helperScript, lookDescription, mailbox, script } from "../bar/child.js";
import { fakeModel } from "./fake-model.js";

const nothing = jsonSchema<object>({ type: "object", properties: {} });
const lookOut = tool({ description: lookDescription, inputSchema: nothing, execute: async () => "Clouds." });
const helper = new ToolLoopAgent({ id: "helper", model: fakeModel(helperScript), tools: { look: lookOut } });
const consult = tool({
  description: consultDescription,
  inputSchema: nothing,
  execute: async () => (await helper.generate({ prompt: "What is the weather?" })).text,
});
const agent = new ToolLoopAgent({
  id: config.agent,
  model: fakeModel(script),
  tools: { ...(await tools(mailbox)), consult, look: lookOut },
  ...inbox(mailbox),
});
const history = {
  load: (): ModelMessage[] => {
    try {
      return JSON.parse(readFileSync(config.state, "utf8")) as ModelMessage[];
    } catch {
      return [];
    }
  },
  save: (messages: ModelMessage[]): void => writeFileSync(config.state, JSON.stringify(messages)),
};
await serve(agent, mailbox, { drainSeconds, history });
