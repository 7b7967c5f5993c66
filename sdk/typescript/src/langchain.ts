/** A mailbox for agents of LangChain and graphs of LangGraph: `tools` and `inbox` make an agent, and `serve` runs it when something came. */
import type { BaseMessage } from "@langchain/core/messages";
import type { DynamicStructuredTool, ToolRunnableConfig } from "@langchain/core/tools";
import type { AgentMiddleware } from "langchain";
import { answerTo, askedIn, patienceFor, sendQuestion, suspendingParameters, type Asked } from "./frameworks/asked.js";
import { serveRuns, servingNames, type RunOnce, type ServingOptions } from "./frameworks/serving.js";
import { callKey, currentShowing, framework, textOf } from "./frameworks/showing.js";
import type { Mailbox } from "./mailbox/mailbox.js";
import type { Names } from "./options.js";

export { CutShortError, run } from "./frameworks/showing.js";
export type { ServingOptions } from "./frameworks/serving.js";

export interface ServeOptions extends ServingOptions {
  /** The thread that all runs continue, if the agent has a checkpointer; the name of the mailbox's agent unless given. */
  thread?: string;
}

export interface ToolsOptions {
  /**
   * Whether `ask` suspends its run until the answer comes, by an `interrupt()`. It takes a checkpointer, and `serve`, which resumes the run.
   * Otherwise `ask` waits within the run.
   */
  suspends?: boolean;
}

/** How a run is named to a graph, and ended. */
interface RunConfig {
  readonly configurable: { readonly thread_id: string };
  readonly signal: AbortSignal;
}

/** What a graph says of a thread. */
interface ThreadState {
  values: any;
  next: readonly string[];
  tasks: readonly { interrupts: readonly { id?: string; value?: any }[] }[];
}

/** What `serve` needs of a compiled graph of LangGraph whose state has `messages`. */
export interface Graph {
  checkpointer?: unknown;
  invoke(input: any, config?: any): Promise<any>;
  getState(config: any): Promise<ThreadState>;
}

/** What `serve` needs of an agent of LangChain. */
export interface GraphAgent {
  readonly graph: Omit<Graph, "invoke">;
  invoke(input: any, config?: any): Promise<any>;
}

const serveNames: Names<ServeOptions> = { ...servingNames, thread: true };
const packages = "langchain@1 @langchain/core@1 @langchain/langgraph@1";

/**
 * What an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer` and `read`. A call that LangGraph makes again
 * from a checkpoint happens once.
 */
export async function tools(mailbox: Mailbox, { suspends = false }: ToolsOptions = {}): Promise<DynamicStructuredTool[]> {
  const { DynamicStructuredTool } = await framework("langchain", packages, () => import("@langchain/core/tools"));
  const { interrupt } = await framework("langchain", packages, () => import("@langchain/langgraph"));
  return mailbox.tools().map((made) => {
    const { name, description, execute } = made;
    const asks = suspends && name === "ask";
    const func = async (given: Record<string, unknown>, _: unknown, config?: ToolRunnableConfig): Promise<string> => {
      const key = keyOf(name, given, config);
      if (!asks || key === undefined) {
        return execute(given, key === undefined ? {} : { key });
      }
      const asked = await sendQuestion(mailbox, given, key);
      return typeof asked === "string" ? asked : interrupt<Asked, string>(asked);
    };
    return new DynamicStructuredTool({ name, description, schema: asks ? suspendingParameters(made) : made.parameters, func });
  });
}

/** The key of a call: the same one when LangGraph makes the call again; undefined without a thread. */
function keyOf(name: string, given: object, config: ToolRunnableConfig | undefined): string | undefined {
  const thread: unknown = config?.configurable?.["thread_id"];
  const call = config?.toolCall?.id;
  return typeof thread === "string" && call ? callKey(thread, call, name, JSON.stringify(given)) : undefined;
}

/**
 * The middleware of an agent that shows its model what came. What it shows becomes part of the state, so that each later call shows it,
 * too. It does so within `serve` and `run`, and nothing elsewhere. One agent has it, and no other one.
 */
export async function inbox(mailbox: Mailbox): Promise<AgentMiddleware> {
  const { createMiddleware } = await framework("langchain", packages, () => import("langchain"));
  return createMiddleware({
    name: "OpenIntentInbox",
    beforeModel: async (state: { messages: BaseMessage[] }) => {
      const messages = await arrivals(mailbox, state.messages);
      return messages.length === 0 ? undefined : { messages };
    },
  });
}

/**
 * For a graph of your own: what came and is not in its `messages`, to be added to them in a node before the model, within `serve` and `run`;
 * nothing elsewhere. The middleware does the same.
 */
export async function arrivals(mailbox: Mailbox, messages: readonly BaseMessage[]): Promise<BaseMessage[]> {
  const showing = currentShowing(mailbox);
  if (showing === undefined) {
    return [];
  }
  const { HumanMessage } = await framework("langchain", packages, () => import("@langchain/core/messages"));
  await showing.look();
  const news = showing.notIn(textsOf(messages));
  showing.hold(news);
  return news.length === 0 ? [] : [new HumanMessage(textOf(news))];
}

/**
 * Runs the agent, or a compiled graph, whenever something waits, one run at a time, until SIGINT or SIGTERM, and closes the mailbox then.
 * With a checkpointer all runs continue one thread, a run that was cut off goes on where it stopped, one that is suspended by `ask` is resumed
 * by its answer, and what a run was shown is settled when its checkpoint is written. @throws the error of the last run when `mostFailures` have
 * failed in a row
 */
export async function serve(agent: Graph | GraphAgent, mailbox: Mailbox, options: ServeOptions = {}): Promise<void> {
  const graph = "graph" in agent ? agent.graph : agent;
  const thread = options.thread ?? mailbox.agentId;
  const once: RunOnce = async (showing, signal) => {
    const config = { configurable: { thread_id: thread }, signal };
    const before = await stateOf(graph, config);
    const news = showing.notIn(textsOf(before?.values.messages ?? []));
    const asked = questionsOf(before, thread);
    const answers = asked.flatMap(([id, question]) => {
      const answer = answerTo(question, showing);
      return answer === undefined ? [] : [[id, answer] as const];
    });
    if (asked.length > 0 && answers.length === 0) {
      return { seconds: patienceFor(asked.map(([, question]) => question)), keeps: true };
    }
    const goesOn = asked.length > 0 || (before?.next.length ?? 0) > 0;
    if (!goesOn && news.length === 0) {
      return undefined; // The process ended between the checkpoint and settling, or nothing came.
    }
    await agent.invoke(asked.length > 0 ? await resumption(answers) : goesOn ? null : { messages: [] }, config);
    if (showing.unheld.length > 0 && !goesOn) {
      throw new Error("the agent was not shown its messages: give it await inbox(mailbox) as middleware, or use arrivals in the graph");
    }
    showing.leave(showing.unheld);
    const left = questionsOf(await stateOf(graph, config), thread);
    return left.length === 0 ? undefined : { seconds: patienceFor(left.map(([, question]) => question)) };
  };
  await serveRuns(mailbox, options, serveNames, once, { seconds: 0 });
}

/** What a graph has stored of a thread; undefined without a checkpointer. */
async function stateOf(graph: Omit<Graph, "invoke">, config: RunConfig): Promise<ThreadState | undefined> {
  return graph.checkpointer ? graph.getState(config) : undefined;
}

/** The questions for which a thread is suspended, by the ids of their interrupts. */
function questionsOf(state: ThreadState | undefined, thread: string): (readonly [string, Asked])[] {
  const interrupts = state?.tasks.flatMap((task) => task.interrupts) ?? [];
  return interrupts.map(({ id, value }) => {
    const asked = askedIn(value);
    if (asked === undefined || id === undefined) {
      throw new Error(`the thread ${thread} is suspended by an interrupt of its own: resume it, or give serve another thread`);
    }
    return [id, asked];
  });
}

/** What resumes a thread with these answers. */
async function resumption(answers: readonly (readonly [string, string])[]): Promise<unknown> {
  const { Command } = await framework("langchain", packages, () => import("@langchain/langgraph"));
  return new Command({ resume: Object.fromEntries(answers) });
}

/** The texts of what the model was told from outside: by the user, and as the answers to its questions. */
function textsOf(messages: readonly BaseMessage[]): string[] {
  return messages.filter((message) => ["human", "tool"].includes(message.getType())).map(({ text }) => text);
}
