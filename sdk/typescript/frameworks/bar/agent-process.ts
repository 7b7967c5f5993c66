import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Config } from "./child.js";

/** How long an agent may tell nothing, in milliseconds: frameworks take long to load on a busy machine. */
const patience = 300_000;

interface Event {
  readonly event: string;
  readonly model: string;
  readonly prompt: readonly string[];
}

/** A program with an agent, in a process of its own. */
export class AgentProcess {
  readonly #events: Event[] = [];
  #changed = (): void => {};
  #ended = false;
  #read = 0;
  readonly #exit: Promise<unknown[]>;

  private constructor(private readonly running: ChildProcess) {
    this.#exit = once(running, "exit");
    createInterface({ input: running.stdout! })
      .on("line", (line) => {
        this.#events.push(JSON.parse(line) as Event);
        this.#changed();
      })
      .on("close", () => {
        this.#ended = true;
        this.#changed();
      });
    const kill = (): boolean => running.kill("SIGKILL");
    process.once("exit", kill);
    running.once("exit", () => process.off("exit", kill));
  }

  /** Starts a compiled program, and gives it its configuration. */
  static start(program: string, config: Config, server: string): AgentProcess {
    return AgentProcess.run([program, JSON.stringify(config)], server);
  }

  /** Starts Node.js with these arguments. */
  static run(arguments_: readonly string[], server: string, more: Record<string, string> = {}): AgentProcess {
    const env = { ...process.env, OPENINTENT_SERVER: server, OPENINTENT_API_KEY: "dev-key-001", ...more };
    return new AgentProcess(spawn(process.execPath, arguments_, { env, stdio: ["pipe", "pipe", "inherit"] }));
  }

  /** The prompt of the next call of a model, which must be this one. */
  async call(model = "agent"): Promise<string> {
    const called = (): Event[] => this.#events.filter(({ event }) => event === "call");
    await this.#until(() => called().length > this.#read, "call a model");
    const call = called()[this.#read++]!;
    if (call.model !== model) {
      throw new Error(`the ${call.model} called its model instead of the ${model}, with:\n${call.prompt.join("\n")}`);
    }
    return call.prompt.join("\n");
  }

  /** Waits until its mailbox is open: what is sent from then on comes by its subscription, and again until it is settled. */
  async opened(): Promise<void> {
    await this.#until(() => this.#events.some(({ event }) => event === "open"), "open its mailbox");
  }

  /** Waits until so many messages have come. */
  async came(messages: number): Promise<void> {
    await this.#until(() => this.#events.filter(({ event }) => event === "came").length >= messages, "get its messages");
  }

  /** Lets a model go on that holds. */
  go(): void {
    this.running.stdin!.write("go\n");
  }

  async kill(): Promise<void> {
    this.running.kill("SIGKILL");
    await this.#exit;
  }

  /** Asks it to end. */
  terminate(): void {
    this.running.kill("SIGTERM");
  }

  /** Its exit code, or the signal that ended it. */
  async ended(): Promise<unknown> {
    const [code, signal] = await this.#exit;
    return signal ?? code;
  }

  async #until(met: () => boolean, what: string): Promise<void> {
    while (!met()) {
      if (this.#ended) {
        throw new Error(`the agent ended and did not ${what}`);
      }
      await this.#change(what);
    }
  }

  /** Waits for an event, which must come in time. */
  async #change(what: string): Promise<void> {
    const late = new Error(`the agent did not ${what} in time; it told:\n${this.#events.map((event) => JSON.stringify(event)).join("\n")}`);
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      this.#changed = resolve;
      timer = setTimeout(() => reject(late), patience);
    }).finally(() => clearTimeout(timer));
  }
}
