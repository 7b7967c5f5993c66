// An agent of the Vercel AI SDK that answers what it is asked on the channels of its mailbox, until SIGTERM.
import { OpenIntentClient } from "@openintent/channels";
import { inbox, serve, tools } from "@openintent/channels/ai";
import { ToolLoopAgent } from "ai";

const mailbox = new OpenIntentClient().mailbox("researcher");
const agent = new ToolLoopAgent({
  id: "researcher",
  model: process.env["MODEL"] ?? "openai/gpt-5.2",
  instructions: "You know which schema each dataset has: Q1 has v2.3. Answer every message that asks something of you.",
  tools: await tools(mailbox),
  ...inbox(mailbox),
});
await serve(agent, mailbox);
