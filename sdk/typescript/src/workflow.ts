import { readFile } from "node:fs/promises";
import { badField } from "./errors.js";
import { isObject } from "./json.js";
import type { ChannelHistory, MemberPolicy } from "./types.js";

/** A channel as a workflow file describes it. */
export interface WorkflowChannel {
  readonly members: readonly string[];
  readonly memberPolicy: MemberPolicy;
  readonly audit: boolean;
  /** In seconds; null: until the intent ends. */
  readonly ttlSeconds: number | null;
  /** Null: the server's usual number. */
  readonly maxMessages: number | null;
  readonly history: ChannelHistory;
  /** After how many messages that two agents alone exchange the loop brake is put on; 0: never; null: the server's usual number. */
  readonly turnBudget: number | null;
  /** How often agents may set each other to work before they are braked; 0: there is no brake; null: the server's usual numbers. */
  readonly conversationBudget: number | null;
  /** A task of the intent, with which the channel ends; null: the whole intent. */
  readonly taskId: string | null;
}

/** Which handler takes the messages of which channel. */
export interface WorkflowHandler {
  /** The channel's name; null: all channels that no other handler names. */
  readonly channel: string | null;
  /** The handler's name. */
  readonly handler: string;
}

/** The parts of a workflow file that concern channels and agents that answer. */
export interface Workflow {
  readonly channels: Readonly<Record<string, WorkflowChannel>>;
  readonly agents: Readonly<Record<string, { readonly onMessage: readonly WorkflowHandler[] }>>;
}

/**
 * Reads a workflow file, with either form of header. It needs the package `yaml`.
 *
 * @throws InvalidArgumentError that says what is wrong, and where
 */
export async function loadWorkflow(path: string): Promise<Workflow> {
  const text = await readFile(path, "utf8");
  let yaml: typeof import("yaml");
  try {
    yaml = await import("yaml");
  } catch (cause) {
    throw new Error("Workflow files need the package yaml: npm install yaml", { cause });
  }
  const document = yaml.parseDocument(text, { uniqueKeys: true, merge: true });
  const [first] = document.errors;
  if (first !== undefined) {
    throw badField(path, `is not valid YAML: ${first.message.split("\n")[0]!.replace(/:$/, "")}`);
  }
  return readWorkflow(document.toJS());
}

/** Reads a workflow from the content of its YAML. It ignores what concerns neither channels nor agents. */
export function readWorkflow(content: unknown): Workflow {
  const root = mapping(content, "the file");
  const channels: Record<string, WorkflowChannel> = {};
  for (const [name, value] of Object.entries(mapping(root["channels"] ?? {}, "channels"))) {
    channels[name] = readChannel(mapping(value ?? {}, `channels.${name}`), `channels.${name}`);
  }
  const agents: Record<string, Workflow["agents"][string]> = {};
  for (const [id, value] of Object.entries(mapping(root["agents"] ?? {}, "agents"))) {
    const place = `agents.${id}`;
    const agent = mapping(value ?? {}, place);
    const onMessage = sequence(agent["on_message"] ?? [], `${place}.on_message`).map((entry, i) =>
      readHandler(entry, `${place}.on_message[${i}]`),
    );
    agents[id] = { onMessage };
  }
  return { channels, agents };
}

const channelKeys = [
  "members",
  "member_policy",
  "audit",
  "ttl_seconds",
  "max_messages",
  "history",
  "turn_budget",
  "conversation_budget",
  "task_id",
];

function readChannel(channel: Record<string, unknown>, place: string): WorkflowChannel {
  knowing(channel, channelKeys, place);
  const policy = channel["member_policy"] ?? "intent";
  if (policy !== "intent" && policy !== "explicit") {
    throw badField(`${place}.member_policy`, "must be explicit or intent");
  }
  const history = channel["history"] ?? "all";
  if (history !== "all" && history !== "from_join") {
    throw badField(`${place}.history`, "must be all or from_join");
  }
  return {
    members: sequence(channel["members"] ?? [], `${place}.members`).map((member, i) => {
      if (!isText(member)) {
        throw badField(`${place}.members[${i}]`, "must be an agent's id");
      }
      return member;
    }),
    memberPolicy: policy,
    audit: optional(channel["audit"], isFlag, `${place}.audit`, "true or false") ?? false,
    ttlSeconds: optional(channel["ttl_seconds"], isCount, `${place}.ttl_seconds`, "a whole number above 0"),
    maxMessages: optional(channel["max_messages"], isCount, `${place}.max_messages`, "a whole number above 0"),
    history,
    turnBudget: optional(channel["turn_budget"], isCountOrNone, `${place}.turn_budget`, "a whole number of 0 or more"),
    conversationBudget: optional(
      channel["conversation_budget"],
      isCountOrNone,
      `${place}.conversation_budget`,
      "a whole number of 0 or more",
    ),
    taskId: optional(channel["task_id"], isText, `${place}.task_id`, "a task's id"),
  };
}

function readHandler(entry: unknown, place: string): WorkflowHandler {
  const item = mapping(entry, place);
  knowing(item, ["channel", "handler"], place);
  const { channel, handler } = item;
  if (!isText(handler)) {
    throw badField(`${place}.handler`, "must be a handler's name");
  }
  return { channel: optional(channel, isText, `${place}.channel`, "a channel's name"), handler };
}

/** Refuses unknown names in a part of the file, so that a misspelt one cannot pass unnoticed. */
function knowing(part: Record<string, unknown>, names: readonly string[], place: string): void {
  const stranger = Object.keys(part).find((name) => !names.includes(name));
  if (stranger !== undefined) {
    throw badField(`${place}.${stranger}`, `is not known here; the known names are ${names.join(", ")}`);
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isFlag(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0;
}

function isCountOrNone(value: unknown): value is number {
  return value === 0 || isCount(value);
}

/** A value that `is` recognizes, or null when there is none. */
function optional<T>(value: unknown, is: (value: unknown) => value is T, place: string, kind: string): T | null {
  if (value === undefined || value === null) {
    return null;
  }
  if (!is(value)) {
    throw badField(place, `must be ${kind}`);
  }
  return value;
}

function mapping(value: unknown, place: string): Record<string, unknown> {
  if (!isObject(value)) {
    throw badField(place, "must be a mapping");
  }
  return value;
}

function sequence(value: unknown, place: string): unknown[] {
  if (!Array.isArray(value)) {
    throw badField(place, "must be a list");
  }
  return value;
}
