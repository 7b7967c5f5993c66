import { OpenIntentClient } from "@openintent/channels";
import { Script, tell, type Action } from "./script.js";

/** What a test gives the program with the agent. */
export interface Config {
  readonly agent: string;
  /** What the agent's model does. */
  readonly actions: readonly Action[];
  /** What the model of another agent does, which the first one calls by the tool `consult`. */
  readonly helper?: readonly Action[];
  /** A file that outlives the program, where the framework may keep its state. */
  readonly state: string;
}

export const config = JSON.parse(process.argv[2]!) as Config;
export const script = new Script("agent", config.actions);
export const helperScript = new Script("helper", config.helper ?? []);

/** How long a run may go on after SIGTERM, in seconds: machines are busy. */
export const drainSeconds = 300;

/** The mailbox of the agent. It tells the test when something came. */
export const mailbox = new OpenIntentClient({ agentId: config.agent }).mailbox(config.agent);
mailbox.wake(() => tell("came"));
await mailbox.open();
tell("open");

/** What the tool `consult` is described as, and a tool without any effect that only the other agent has. */
export const consultDescription = "Ask a colleague in this program.";
export const lookDescription = "Look out of the window.";
