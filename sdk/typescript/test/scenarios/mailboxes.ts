import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Box, type BoxOptions } from "./box.js";
import type { Values } from "./scenario.js";
import { step, type Step } from "./step.js";

/** A mailbox in a process of its own. */
class BoxApart {
  readonly #lines: Interface;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(private readonly process: ChildProcess) {
    this.#lines = createInterface({ input: process.stdout! });
  }

  static async open(options: BoxOptions): Promise<BoxApart> {
    const program = fileURLToPath(new URL("./box-apart.js", import.meta.url));
    const apart = new BoxApart(spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] }));
    await apart.perform("open", options as unknown as Values);
    return apart;
  }

  perform(what: string, fields: Values): Promise<any> {
    const turn = this.#turn.then(async () => {
      const line = Promise.race([once(this.#lines, "line"), once(this.#lines, "close")]);
      this.process.stdin!.write(`${JSON.stringify({ what, fields })}\n`);
      const { result, failed } = JSON.parse(((await line)[0] as string | undefined) ?? '{"failed": "the process has ended"}');
      if (failed !== undefined) {
        throw new Error(`${what}: ${failed}`);
      }
      return result;
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    await this.perform("close", {});
    this.process.stdin!.end();
    await once(this.process, "exit");
  }

  async kill(): Promise<void> {
    const ended = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await ended;
  }
}

export type AnyBox = Box | BoxApart;

/** A step in a mailbox. */
function inBox(what: string, known: readonly string[]): Step {
  return step(["mailbox", ...known], async ({ play, fields: { mailbox, ...fields } }) => {
    const box = play.mailboxes.get(mailbox);
    if (box === undefined) {
      throw new Error(`There is no mailbox ${mailbox}.`);
    }
    return box.perform(what, fields);
  });
}

/** What the steps on mailboxes do. */
export const mailing: Record<string, Step> = {
  register: step(["role"], async ({ play, as, fields }) => {
    await play.stage.register(play.names.own(as!), play.names.own(fields["role"]));
    return null;
  }),
  open_mailbox: step(
    ["mailbox", "channels", "attention", "max_chars", "apart"],
    async ({ play, as, fields: { mailbox, apart, ...options } }) => {
      const all = { ...play.stage.connection(), agentId: play.names.own(as!), ...options };
      play.mailboxes.set(mailbox, await (apart ? BoxApart.open(all) : Box.open(all)));
      return null;
    },
  ),
  take: inBox("take", ["count", "wait"]),
  settle: inBox("settle", ["except"]),
  waiting: inBox("waiting", ["count"]),
  answer: inBox("answer", ["message", "payload"]),
  decline: inBox("decline", ["message", "note"]),
  read: inBox("read", ["message"]),
  tool: inBox("tool", ["tool", "with"]),
  close_mailbox: step(["mailbox"], async ({ play, fields }) => {
    const box = play.mailboxes.get(fields["mailbox"])!;
    play.mailboxes.delete(fields["mailbox"]);
    await box.close();
    return null;
  }),
  kill_mailbox: step(["mailbox"], async ({ play, fields }) => {
    const box = play.mailboxes.get(fields["mailbox"])!;
    play.mailboxes.delete(fields["mailbox"]);
    await box.kill();
    return null;
  }),
};
