// The clarification of RFC-0021: a research agent asks a data agent which schema a dataset has.
import { OpenIntentClient } from "@openintent/channels";
import { dataAgent, type Answer, type Question } from "./data-agent.js";

const agent = dataAgent();
const leaving = new AbortController();
const running = agent.run({ signal: leaving.signal });

const client = new OpenIntentClient({ agentId: "research-agent" });
const intent = await client.intents.create("Research Q1 financials", { status: "active" });
const channel = await client.channels.open("data-clarification", intent.id, {
  members: ["research-agent", "data-agent"],
  memberPolicy: "explicit",
});
const question: Question = { question: "What schema version does the Q1 dataset use?" };
const { sender, payload } = await channel.ask<Answer>("data-agent", question, { timeout: 30 });
console.log(`research-agent hears from ${sender}: ${payload.answer}`);
await channel.broadcast({ status: "starting analysis", schema: payload.answer });

console.log("On the channel:");
for (const message of await client.listMessages(channel.id)) {
  console.log(`  ${message.messageType} from ${message.sender} to ${message.to}`);
}
await client.intents.setStatus(intent.id, "completed"); // Closes the channel, too.

leaving.abort();
await running;
