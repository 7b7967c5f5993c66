import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export type Values = Record<string, any>;

/** A handler of an agent, as a scenario describes it. */
export interface HandlerFile {
  channel?: string;
  reply?: Values;
  echo?: boolean;
  attempt?: boolean;
  fail?: string;
  nothing?: boolean;
  gate?: string;
  ask?: { channel: string; to: string; payload: Values };
  mention?: boolean;
  obligation?: boolean;
  digest?: boolean;
  message_reply?: Values;
  note?: string;
}

export interface AgentFile {
  id: string;
  role?: string;
  concurrency?: number;
  attention?: boolean;
  skip_unaddressed?: boolean;
  compose?: boolean;
  digest_seconds?: number;
  max_chars?: number;
  process?: string;
  drain?: number;
  handlers: HandlerFile[];
}

export interface StepFile {
  as?: string;
  do: string;
  with?: Values;
  save?: string;
  background?: string;
  repeat?: number;
  parallel?: number;
  expect?: any;
  expect_error?: Values;
}

export interface ScenarioFile {
  name: string;
  engines?: string[];
  disturbs?: boolean;
  needs?: string[];
  intent?: Values;
  agents?: AgentFile[];
  steps: StepFile[];
}

const fields = {
  scenario: ["name", "engines", "disturbs", "needs", "intent", "agents", "steps"],
  agent: [
    ...["id", "role", "concurrency", "handlers", "attention", "skip_unaddressed", "process", "drain"],
    ...["compose", "digest_seconds", "max_chars"],
  ],
  handler: ["channel", "reply", "echo", "attempt", "fail", "nothing", "gate", "ask", "mention", "obligation", "digest", "message_reply", "note"],
  step: ["as", "do", "with", "save", "background", "repeat", "parallel", "expect", "expect_error"],
};

/** Fails on a field that this runner does not know. */
export function knowing(kind: keyof typeof fields | readonly string[], value: Values, where: string): void {
  const known: readonly string[] = typeof kind === "string" ? fields[kind] : kind;
  const stranger = Object.keys(value).find((name) => !known.includes(name));
  if (stranger !== undefined) {
    throw new Error(`${where}: the runner does not know ${JSON.stringify(stranger)}`);
  }
}

export function checkAgent(agent: AgentFile, where: string): void {
  knowing("agent", agent, where);
  agent.handlers.forEach((handler) => knowing("handler", handler, `${where}, handlers`));
}

/** What the client over gRPC has of what a scenario may need. The one over REST has none of it. */
const has = { grpc: ["mailbox"], rest: [] as string[] };

/** Returns the first thing that a scenario needs and this SDK does not have over a transport. */
export function lacks(scenario: ScenarioFile, face: "grpc" | "rest"): string | undefined {
  return scenario.needs?.find((need) => !has[face].includes(need));
}

/** Reads all scenarios of a folder. */
export function loadScenarios(folder: string): ScenarioFile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  if (names.length === 0) {
    throw new Error(`There are no scenarios in ${folder}.`);
  }
  return names.sort().map((name) => {
    const scenario = parse(readFileSync(join(folder, name), "utf8")) as ScenarioFile;
    knowing("scenario", scenario, name);
    scenario.agents?.forEach((agent) => checkAgent(agent, name));
    scenario.steps.forEach((step, i) => knowing("step", step, `${name}, step ${i + 1}`));
    return scenario;
  });
}
