// An agent of Mastra that answers what it is asked on the channels of its mailbox, until SIGTERM.
import { Agent } from "@mastra/core/agent";
import { OpenIntentClient } from "@openintent/channels";
import { inbox, serve, tools } from "@openintent/channels/mastra";

const url = process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1";
const mailbox = new OpenIntentClient().mailbox("researcher");
const agent = new Agent({
  id: "researcher",
  name: "Researcher",
  model: { id: `openai/${process.env["MODEL"] ?? "gpt-5.2"}`, url, apiKey: process.env["OPENAI_API_KEY"] ?? "" },
  instructions: "You know which schema each dataset has: Q1 has v2.3. Answer every message that asks something of you.",
  tools: await tools(mailbox),
  inputProcessors: [inbox(mailbox)],
});
await serve(agent, mailbox);
