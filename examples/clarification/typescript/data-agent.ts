import { Console } from "node:console";
import { Agent, type AgentOptions } from "@openintent/channels";

export interface Question {
  question: string;
}
export interface Answer {
  answer: string;
  confidence: number;
}

/** Makes the agent that knows the schemas. It writes its log to standard error. */
export function dataAgent(options: Partial<AgentOptions> = {}): Agent {
  const agent = new Agent({ id: "data-agent", logger: new Console(process.stderr), ...options });
  agent.onMessage<Question>("data-clarification", (message): Answer | null => {
    if (message.messageType !== "request") {
      return null;
    }
    console.log(`data-agent is asked by ${message.sender}: ${message.payload.question}`);
    return { answer: "v2.3", confidence: 0.95 };
  });
  return agent;
}
