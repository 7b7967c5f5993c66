/** A mailbox for agents of the Vercel AI SDK: `tools` and `inbox` make its settings, and `serve` runs it when something came. */
import type { Agent, GenerateTextOnEndCallback, ModelMessage, PrepareStepFunction, StepResult, ToolSet } from "ai";
import { serveRuns, servingNames, type ServingOptions } from "./frameworks/serving.js";
import { currentShowing, framework, textOf, unheld, type Showing } from "./frameworks/showing.js";
import type { Mailbox, MailboxMessage } from "./mailbox/mailbox.js";
import type { Names } from "./options.js";

export { CutShortError, run } from "./frameworks/showing.js";
export type { ServingOptions } from "./frameworks/serving.js";

/** Where the conversation of an agent is kept. The AI SDK keeps none. */
export interface History {
  /** What was saved last; nothing at first. */
  load(): Promise<ModelMessage[]> | ModelMessage[];
  /** Keeps the conversation. When it returns, what the run was shown is settled. */
  save(messages: ModelMessage[]): Promise<void> | void;
}

export interface ServeOptions extends ServingOptions {
  /** With it all runs are one conversation; without it each run stands alone. */
  history?: History;
}

/** The settings of an agent that show it what came. */
export interface Inbox {
  prepareStep: PrepareStepFunction<any, any>;
  onEnd: GenerateTextOnEndCallback<any, any>;
}

const serveNames: Names<ServeOptions> = { ...servingNames, history: true };

/** What a run was told, and what was said in it. */
interface Told {
  /** The messages that each of its calls shows. */
  readonly mail: ModelMessage[];
  /** What was said after its beginning: by its model, by its tools, and in messages that came. */
  readonly said: ModelMessage[];
}

const runs = new WeakMap<Showing, Told>();

function toldIn(showing: Showing): Told {
  const told = runs.get(showing) ?? { mail: [], said: [] };
  runs.set(showing, told);
  return told;
}

/** What an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer` and `read`. */
export async function tools(mailbox: Mailbox): Promise<ToolSet> {
  const { jsonSchema, tool } = await framework("ai", "ai@7", () => import("ai"));
  const made = mailbox.tools().map(({ name, description, parameters, execute }) => {
    const inputSchema = jsonSchema<Record<string, unknown>>(parameters);
    return [name, tool({ description, inputSchema, execute: (given: Record<string, unknown>) => execute(given) })];
  });
  return Object.fromEntries(made);
}

/**
 * Settings for `ToolLoopAgent`, `generateText` or `streamText` that show the model what came, at each of its calls. They do so within `serve` and
 * `run`, and nothing elsewhere. Give your own `prepareStep` and `onEnd` here; when `onEnd` throws, nothing is settled.
 */
export function inbox(mailbox: Mailbox, own: Partial<Inbox> = {}): Inbox {
  return {
    prepareStep: async (step) => {
      const showing = currentShowing(mailbox);
      if (showing === undefined) {
        return own.prepareStep?.(step);
      }
      if (step.stepNumber === 0) {
        showing.begins();
      }
      const { mail, said } = toldIn(showing);
      said.push(...lastSaid(step.steps));
      const news = messageOf(await showing.look());
      mail.push(...news);
      said.push(...news);
      const messages = [...step.messages, ...news];
      const prepared = await own.prepareStep?.({ ...step, messages });
      return { ...prepared, messages: withAll(prepared?.messages ?? messages, mail) };
    },
    onEnd: async (event) => {
      await own.onEnd?.(event);
      if (event.finishReason !== "error") {
        currentShowing(mailbox)?.endsWell();
      }
    },
  };
}

/**
 * Runs the agent whenever something waits, one run at a time, until SIGINT or SIGTERM, and closes the mailbox then. With a `history` a run
 * is settled when its conversation is saved. @throws the error of the last run when `mostFailures` have failed in a row
 */
export async function serve(agent: Agent<never, any, any, any>, mailbox: Mailbox, options: ServeOptions = {}): Promise<void> {
  const { history } = options;
  await serveRuns(mailbox, options, serveNames, async (showing, abortSignal) => {
    const before = (await history?.load()) ?? [];
    const begins = messageOf(unheld(showing.messages, before.flatMap(textsIn)));
    if (begins.length === 0) {
      return; // The process ended between saving and settling.
    }
    const { mail, said } = toldIn(showing);
    mail.push(...begins);
    const { steps } = await agent.generate({ messages: [...before, ...begins], abortSignal });
    await history?.save([...before, ...begins, ...said, ...lastSaid(steps)]);
  });
}

/** Messages that came, as one of the user; none if there are none. */
function messageOf(messages: readonly MailboxMessage[]): ModelMessage[] {
  return messages.length === 0 ? [] : [{ role: "user", content: textOf(messages) }];
}

/** Adds what a step left out of the messages that came: its settings may build the messages anew. */
function withAll(messages: ModelMessage[], mail: readonly ModelMessage[]): ModelMessage[] {
  return [...messages, ...mail.filter(({ content }) => !messages.some((message) => message.content === content))];
}

/** What the model and its tools said in the last step. */
function lastSaid(steps: readonly StepResult<any, any>[]): ModelMessage[] {
  return steps.at(-1)?.response.messages ?? [];
}

/** The texts in a message of the user. */
function textsIn({ role, content }: ModelMessage): string[] {
  return role === "user" && typeof content === "string" ? [content] : [];
}
