import { once } from "node:events";

/** A call of a tool that a model makes. A text `$words` among the arguments is the id of the message that has these words. */
export interface ScriptedCall {
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, string>>;
}

/** What a model does when it is called: it says something, calls tools, or fails. */
export interface Action {
  /** It waits for a line on the standard input first. */
  readonly hold?: true;
  readonly say?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly fail?: string;
}

/** Tells the test that something happened. */
export function tell(event: string, facts: object = {}): void {
  process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`);
}

/** What a fake model does, call by call. It tells the test of each call, and with what it was prompted. */
export class Script {
  #calls = 0;

  constructor(
    private readonly model: string,
    private readonly actions: readonly Action[],
  ) {}

  /** The next action. Each text of the prompt begins with the role of who said it. */
  async next(prompt: readonly string[]): Promise<Action> {
    const action = this.actions[this.#calls++] ?? { say: "There is nothing more to do." };
    tell("call", { model: this.model, prompt });
    if (action.hold) {
      await once(process.stdin, "data");
      process.stdin.pause(); // It does not keep the program running.
    }
    if (action.fail !== undefined) {
      throw new Error(action.fail);
    }
    const calls = action.calls?.map((call) => ({ ...call, args: resolved(call.args, prompt) }));
    return { ...action, ...(calls && { calls }) };
  }
}

function resolved(args: Readonly<Record<string, string>>, prompt: readonly string[]): Record<string, string> {
  const lines = prompt.flatMap((text) => text.split("\n")).filter((line) => line.startsWith('{"id":"'));
  const idOf = (words: string): string => {
    const line = lines.find((line) => line.includes(words));
    if (line === undefined) {
      throw new Error(`the model was shown no message with ${words}`);
    }
    return (JSON.parse(line) as { id: string }).id;
  };
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, value.startsWith("$") ? idOf(value.slice(1)) : value]));
}
