// An agent of LangChain that answers what it is asked on the channels of its mailbox, until SIGTERM.
import { ChatOpenAI } from "@langchain/openai";
import { OpenIntentClient } from "@openintent/channels";
import { inbox, serve, tools } from "@openintent/channels/langchain";
import { createAgent } from "langchain";

const mailbox = new OpenIntentClient().mailbox("researcher");
const agent = createAgent({
  name: "researcher",
  model: new ChatOpenAI({ model: process.env["MODEL"] ?? "gpt-5.2" }),
  systemPrompt: "You know which schema each dataset has: Q1 has v2.3. Answer every message that asks something of you.",
  tools: await tools(mailbox),
  middleware: [await inbox(mailbox)],
});
await serve(agent, mailbox);
