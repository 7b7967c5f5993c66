// The clarification of RFC-0021: a research agent asks a data agent which schema a dataset has.
import { Console } from "node:console";
import { Agent, OpenIntentClient } from "@openintent/channels";

interface Question {
  question: string;
}
interface Answer {
  answer: string;
  confidence: number;
}

// The agent writes its log to standard error.
const agent = new Agent({ id: "data-agent", logger: new Console(process.stderr) });
agent.onMessage<Question>("data-clarification", (message): Answer | null => {
  if (message.messageType !== "request") {
    return null;
  }
  console.log(`data-agent is asked by ${message.sender}: ${message.payload.question}`);
  return { answer: "v2.3", confidence: 0.95 };
});
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
