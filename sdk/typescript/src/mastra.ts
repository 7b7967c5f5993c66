/** A mailbox for agents of Mastra: `tools` and `inbox` make an agent, and `serve` runs it when something came. */
import { randomUUID } from "node:crypto";
import type { Agent } from "@mastra/core/agent";
import type { InputProcessor, ProcessInputStepArgs } from "@mastra/core/processors";
import type { Tool } from "@mastra/core/tools";
import { answerTo, askedIn, patienceFor, sendQuestion, suspendingParameters, type Asked } from "./frameworks/asked.js";
import { serveRuns, servingNames, type RunOnce, type ServingOptions } from "./frameworks/serving.js";
import { callKey, currentShowing, framework, textOf, type Showing } from "./frameworks/showing.js";
import type { Mailbox } from "./mailbox/mailbox.js";
import type { Names } from "./options.js";

export { CutShortError, run } from "./frameworks/showing.js";
export type { ServingOptions } from "./frameworks/serving.js";

export interface ServeOptions extends ServingOptions {
  /** The thread of the agent's memory that all runs continue, if it has one; the name of the mailbox's agent unless given. */
  thread?: string;
  /** Whose the thread is, in the agent's memory; the name of the mailbox's agent unless given. */
  resource?: string;
}

export interface ToolsOptions {
  /**
   * Whether `ask` suspends its run until the answer comes. It takes an agent of a `Mastra` with storage, and `serve`, which resumes the run.
   * Otherwise `ask` waits within the run.
   */
  suspends?: boolean;
}

const serveNames: Names<ServeOptions> = { ...servingNames, thread: true, resource: true };

/** What Mastra says of a suspended run. */
interface SuspendedRun {
  readonly runId: string;
  readonly toolCalls: readonly { readonly toolCallId?: string; readonly suspendPayload?: unknown }[];
}

/** A suspended run, and the call of `ask` in it that waits. */
interface Suspended extends Asked {
  readonly runId: string;
  readonly toolCallId: string | undefined;
}

/** What this looks at in a message of Mastra. */
interface DbMessage {
  readonly role: string;
  readonly content: { readonly parts: readonly { readonly type: string; readonly text?: string }[] };
}

/** What a tool gets to suspend its run, and what it was resumed with. */
interface CallContext {
  readonly agent?: { toolCallId: string; threadId?: string; suspend(payload: object): Promise<void>; resumeData?: unknown };
}

/** What an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer` and `read`. */
export async function tools(mailbox: Mailbox, { suspends = false }: ToolsOptions = {}): Promise<Record<string, Tool<any, any>>> {
  const { createTool } = await framework("mastra", "@mastra/core@1", () => import("@mastra/core/tools"));
  const made = mailbox.tools().map((tool) => {
    const { name: id, description, execute } = tool;
    const work = (given: unknown): Promise<string> => execute(given as Record<string, unknown>);
    if (!suspends || id !== "ask") {
      return [id, createTool({ id, description, inputSchema: tool.parameters as any, execute: work })];
    }
    const asks = async (given: unknown, { agent }: CallContext): Promise<string | void> =>
      agent === undefined ? work(given) : suspendingAsk(mailbox, given as Record<string, unknown>, agent);
    return [id, createTool({ id, description, inputSchema: suspendingParameters(tool) as any, execute: asks as any })];
  });
  return Object.fromEntries(made);
}

/** Asks and suspends the run, or returns the answer with which the run was resumed. */
async function suspendingAsk(
  mailbox: Mailbox,
  given: Record<string, unknown>,
  agent: NonNullable<CallContext["agent"]>,
): Promise<string | void> {
  const { answer } = (agent.resumeData ?? {}) as { answer?: unknown };
  if (typeof answer === "string") {
    return answer;
  }
  const asked = await sendQuestion(mailbox, given, callKey(agent.threadId ?? "", agent.toolCallId, "ask", JSON.stringify(given)));
  return typeof asked === "string" ? asked : agent.suspend(asked);
}

/** What the context of a run of `serve` has under `runKey`. Tools may start runs of other agents meanwhile, which do not have it. */
const served = new WeakMap<Showing, string>();
const runKey = "openintent-run";

/**
 * An input processor that shows the model of an agent what came, before each of its calls. What it shows becomes part of the run's messages, so
 * that each later call shows it, too, and the agent's memory keeps it. It does so in the runs of `serve`, and not in those that tools start
 * meanwhile, and within `run`; nowhere else.
 */
export function inbox(mailbox: Mailbox): InputProcessor {
  return {
    id: "openintent-inbox",
    async processInputStep({ messageList, requestContext }: ProcessInputStepArgs) {
      const showing = currentShowing(mailbox);
      if (showing === undefined || (served.has(showing) && served.get(showing) !== requestContext?.get(runKey))) {
        return undefined;
      }
      await showing.look();
      const news = showing.notIn(textsOf(messageList));
      if (news.length > 0) {
        messageList.add({ role: "user", content: textOf(news) }, "input");
        showing.hold(news);
      }
      return messageList;
    },
  };
}

/**
 * Runs the agent whenever something waits, one run at a time, until SIGINT or SIGTERM, and closes the mailbox then. With a memory all runs
 * continue one thread of it. A run that is suspended by `ask` is resumed by its answer. What a run was shown is settled when the run has
 * ended and its memory is stored, or when it is suspended. @throws the error of the last run when `mostFailures` have failed in a row
 */
export async function serve(agent: Agent<any, any, any>, mailbox: Mailbox, options: ServeOptions = {}): Promise<void> {
  const { RequestContext } = await framework("mastra", "@mastra/core@1", () => import("@mastra/core/request-context"));
  const { agentId } = mailbox;
  const memory = { thread: options.thread ?? agentId, resource: options.resource ?? agentId };
  const once: RunOnce = async (showing, abortSignal) => {
    const [suspended] = await suspendedRuns(agent, memory.thread);
    const answer = suspended && answerTo(suspended, showing);
    if (suspended !== undefined && answer === undefined) {
      return { seconds: patienceFor([suspended]), keeps: true };
    }
    if (suspended === undefined && showing.messages.length === 0) {
      return undefined;
    }
    const run = randomUUID();
    served.set(showing, run);
    const settings = { memory, abortSignal, requestContext: new RequestContext([[runKey, run]]) };
    const { error, finishReason, tripwire } =
      suspended === undefined
        ? await agent.generate([], settings)
        : await agent.resumeGenerate({ answer }, { ...settings, runId: suspended.runId, toolCallId: suspended.toolCallId });
    if (error !== undefined || tripwire !== undefined || finishReason === "error") {
      throw error ?? new Error(tripwire?.reason ?? "the run ended with an error");
    }
    if (showing.unheld.length > 0 && suspended === undefined) {
      throw new Error("the agent was not shown its messages: give it inbox(mailbox) among its inputProcessors");
    }
    showing.leave(showing.unheld);
    const left = await suspendedRuns(agent, memory.thread);
    return left.length === 0 ? undefined : { seconds: patienceFor(left) };
  };
  await serveRuns(mailbox, options, serveNames, once, { seconds: 0 });
}

/** The runs of a thread that are suspended by `ask`; none without storage. */
async function suspendedRuns(agent: Agent<any, any, any>, threadId: string): Promise<Suspended[]> {
  if (!agent.getMastraInstance()?.getStorage()) {
    return [];
  }
  const { runs } = await agent.listSuspendedRuns({ threadId });
  return (runs as readonly SuspendedRun[]).flatMap(({ runId, toolCalls }) =>
    toolCalls.flatMap(({ toolCallId, suspendPayload }) => {
      const asked = askedIn(suspendPayload);
      return asked === undefined ? [] : [{ ...asked, runId, toolCallId }];
    }),
  );
}

/** The texts of the user's messages. */
function textsOf(history: ProcessInputStepArgs["messageList"]): string[] {
  const all: readonly DbMessage[] = history.get.all.db();
  const users = all.filter(({ role }) => role === "user");
  return users.flatMap(({ content }) => content.parts.flatMap(({ text }) => (text === undefined ? [] : [text])));
}
