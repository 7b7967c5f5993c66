import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { inbox, serve, tools } from "@openintent/channels/mastra";
import { z } from "zod";
import { config, consultDescription, drainSeconds, helperScript, lookDescription, mailbox, script } from "../bar/child.js";
import { scriptedModel } from "./scripted-model.js";

const nothing = z.object({});
const look = createTool({ id: "look", description: lookDescription, inputSchema: nothing, execute: async () => "Clouds." });
const showing = [inbox(mailbox)];
// The other agent has the same processor, and its runs are shown nothing.
const helper = new Agent({ id: "helper", name: "helper", instructions: "", model: scriptedModel(helperScript), tools: { look }, inputProcessors: showing });
const consult = createTool({
  id: "consult",
  description: consultDescription,
  inputSchema: nothing,
  execute: async () => (await helper.generate("What is the weather?")).text,
});
const storage = new LibSQLStore({ id: "state", url: `file:${config.state}` });
const agent = new Agent({
  id: config.agent,
  name: config.agent,
  instructions: "",
  model: scriptedModel(script),
  tools: { ...(await tools(mailbox, { suspends: true })), consult, look },
  inputProcessors: showing,
  memory: new Memory({ storage }),
});
new Mastra({ agents: { agent, helper }, storage, logger: false });
await serve(agent, mailbox, { drainSeconds });
