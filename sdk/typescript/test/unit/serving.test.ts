import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../src/clock.js";
import { connectionLost, errorFrom, UnavailableError } from "../../src/errors.js";
import { answerTo, askedIn, patienceFor, sendQuestion, type Asked } from "../../src/frameworks/asked.js";
import { serveRuns, servingNames, type RunOnce, type ServingOptions, type Waits } from "../../src/frameworks/serving.js";
import { callKey, currentShowing, CutShortError, framework, run, Showing, textOf, unheld } from "../../src/frameworks/showing.js";
import type { Batch, Mailbox, MailboxMessage } from "../../src/mailbox/mailbox.js";
import { FakeClock, still } from "./fakes.js";

const shown = (id: string): MailboxMessage => ({ id, text: `{"id":"${id}","from":"ann"}` }) as MailboxMessage;

/** A mailbox that hands out what waits, and waits for ever while there is nothing. */
class FakeMailbox {
  readonly agentId = "me";
  readonly waits: MailboxMessage[] = [];
  readonly settled: string[] = [];
  /** What the next looks throw. */
  readonly failures: Error[] = [];
  closed = false;
  /** Ends whoever serves when nothing waits any more. */
  readonly empty = new AbortController();

  constructor(...ids: string[]) {
    this.waits.push(...ids.map(shown));
  }

  get asMailbox(): Mailbox {
    return this as unknown as Mailbox;
  }

  async take(wait = 0, { signal }: { signal?: AbortSignal } = {}): Promise<Batch> {
    const failure = this.failures.shift();
    if (failure !== undefined) {
      throw failure;
    }
    if (this.waits.length === 0 && wait > 0) {
      this.empty.abort(new Error("nothing waits"));
      signal?.throwIfAborted();
    }
    const messages = this.waits.splice(0);
    const settle = async ({ except = [] as readonly string[] } = {}): Promise<void> => {
      this.settled.push(...messages.map(({ id }) => id).filter((id) => !except.includes(id)));
      this.waits.push(...messages.filter(({ id }) => except.includes(id)));
    };
    return { messages, settle };
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

/** Serves until nothing waits, and returns what was said meanwhile. */
async function served(mailbox: FakeMailbox, once: RunOnce, options: ServingOptions = {}, clock: Clock = new FakeClock(), first?: Waits): Promise<string[]> {
  const said: string[] = [];
  const logger = { warn: (text: string): void => void said.push(text) };
  await serveRuns(mailbox.asMailbox, { signal: mailbox.empty.signal, logger, ...options }, servingNames, once, first, clock);
  return said;
}

test("what a run was shown is settled when it has ended well, and given back when it fails", async () => {
  const mailbox = new FakeMailbox("m1");
  await run(mailbox.asMailbox, async () => {
    await currentShowing(mailbox.asMailbox)!.look();
    assert.deepEqual(mailbox.settled, []);
  });
  assert.deepEqual([mailbox.settled, mailbox.waits], [["m1"], []]);

  mailbox.waits.push(shown("m2"), shown("m3"));
  const failing = run(mailbox.asMailbox, async () => {
    await currentShowing(mailbox.asMailbox)!.look();
    throw new Error("the model is broken");
  });
  await assert.rejects(failing, /the model is broken/);
  assert.deepEqual([mailbox.settled, mailbox.waits.map(({ id }) => id)], [["m1"], ["m2", "m3"]]);
});

test("a run in which something did not end well settles nothing", async () => {
  const mailbox = new FakeMailbox("m1");
  const cut = run(mailbox.asMailbox, async () => {
    const showing = currentShowing(mailbox.asMailbox)!;
    showing.begins();
    await showing.look();
  });
  await assert.rejects(cut, CutShortError);
  assert.deepEqual([mailbox.settled, mailbox.waits.length], [[], 1]);
  await run(mailbox.asMailbox, async () => {
    const showing = currentShowing(mailbox.asMailbox)!;
    showing.begins();
    await showing.look();
    showing.endsWell();
  });
  assert.deepEqual(mailbox.settled, ["m1"]);
});

test("what a run leaves comes again when the rest is settled", async () => {
  const mailbox = new FakeMailbox("m1", "m2");
  await run(mailbox.asMailbox, async () => {
    const showing = currentShowing(mailbox.asMailbox)!;
    await showing.look();
    showing.leave(["m1"]);
  });
  assert.deepEqual([mailbox.settled, mailbox.waits.map(({ id }) => id)], [["m2"], ["m1"]]);
});

test("a run is one of its own mailbox, and of no other", async () => {
  const [mailbox, other] = [new FakeMailbox(), new FakeMailbox()];
  assert.equal(currentShowing(mailbox.asMailbox), undefined);
  await run(mailbox.asMailbox, async () => {
    assert.ok(currentShowing(mailbox.asMailbox) instanceof Showing);
    assert.equal(currentShowing(other.asMailbox), undefined);
  });
});

test("it serves one run at a time, settles after each, and closes the mailbox", async () => {
  const mailbox = new FakeMailbox("m1");
  const runs: string[] = [];
  const said = await served(mailbox, async (showing) => {
    runs.push(showing.messages.map(({ id }) => id).join());
    assert.equal(currentShowing(mailbox.asMailbox), showing);
    if (runs.length === 1) {
      mailbox.waits.push(shown("m2"), shown("m3"));
      await Promise.resolve();
    }
    assert.deepEqual(mailbox.settled, runs.length === 1 ? [] : ["m1"]);
  });
  assert.deepEqual([runs, mailbox.settled, mailbox.closed, said], [["m1", "m2,m3"], ["m1", "m2", "m3"], true, []]);
});

test("what a failed run was shown comes again after a pause, and it gives up after so many failures in a row", async () => {
  const mailbox = new FakeMailbox("m1");
  let runs = 0;
  const said = await served(mailbox, async () => {
    if (++runs < 3) {
      throw new Error("the model is broken");
    }
  });
  assert.deepEqual([runs, mailbox.settled], [3, ["m1"]]);
  assert.deepEqual(said, Array(2).fill("mailbox of me: a run failed, and its messages come again: the model is broken"));

  const hopeless = new FakeMailbox("m1");
  const failing = served(hopeless, async () => Promise.reject(new Error("the model is broken")), { mostFailures: 2 });
  await assert.rejects(failing, /the model is broken/);
  assert.deepEqual([hopeless.settled, hopeless.waits.length, hopeless.closed], [[], 1, true]);
});

test("it waits for a server that is away, and gives up on one that refuses", async () => {
  const mailbox = new FakeMailbox("m1");
  const away = connectionLost("gone");
  assert.ok(away instanceof UnavailableError);
  mailbox.failures.push(away, away);
  assert.equal((await served(mailbox, async () => {})).length, 2);
  assert.deepEqual(mailbox.settled, ["m1"]);

  const refused = new FakeMailbox("m1");
  refused.failures.push(errorFrom({ code: "PERMISSION_DENIED", reason: "NOT_ALLOWED", message: "not you" }));
  await assert.rejects(served(refused, async () => assert.fail("there is nothing to run with")), /not you/);
  assert.ok(refused.closed);
});

test("the run that is under way when it ends has its time, and is settled if that is enough", async () => {
  const mailbox = new FakeMailbox("m1");
  const leaving = new AbortController();
  await served(
    mailbox,
    async (_, signal) => {
      leaving.abort(new Error("leave"));
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(!signal.aborted);
    },
    { signal: leaving.signal },
    still,
  );
  assert.deepEqual([mailbox.settled, mailbox.closed], [["m1"], true]);
});

test("a run that takes too long when it ends is aborted and settles nothing", async () => {
  const mailbox = new FakeMailbox("m1");
  const leaving = new AbortController();
  let aborted: unknown;
  await served(
    mailbox,
    async (_, signal) => {
      leaving.abort(new Error("leave"));
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      aborted = signal.reason;
    },
    { signal: leaving.signal },
  );
  assert.deepEqual([String(aborted), mailbox.settled, mailbox.closed], ["Error: leave", [], true]);
});

test("a run that is suspended keeps what it could not show, and is called again with what comes", async () => {
  const mailbox = new FakeMailbox("m1");
  const runs: string[] = [];
  await served(mailbox, async (showing) => {
    runs.push(showing.messages.map(({ id }) => id).join());
    if (runs.length === 1) {
      mailbox.waits.push(shown("m2"));
      return { seconds: 600, keeps: true };
    }
    assert.deepEqual(mailbox.settled, []);
    return undefined;
  });
  assert.deepEqual([runs, mailbox.settled], [["m1", "m1,m2"], ["m1", "m2"]]);
});

test("a run that is suspended in the end settles, and is called again when its time is over", async () => {
  const mailbox = new FakeMailbox("m1");
  const looks: number[] = [];
  const take = mailbox.take.bind(mailbox);
  mailbox.take = (wait = 0, options = {}) => {
    looks.push(wait);
    return take(wait === 7 ? 0 : wait, options); // Seven seconds pass.
  };
  let runs = 0;
  await served(mailbox, async () => (++runs === 1 ? { seconds: 7 } : undefined));
  assert.deepEqual([runs, mailbox.settled, looks], [2, ["m1"], [600, 7, 600]]);
});

test("it begins with the runs that an earlier process left", async () => {
  const mailbox = new FakeMailbox();
  let runs = 0;
  await served(mailbox, async () => void runs++, {}, new FakeClock(), { seconds: 0 });
  assert.equal(runs, 1);
});

test("a suspended run knows the answer to its question, and when it has waited long enough", () => {
  const mailbox = new FakeMailbox();
  const showing = new Showing(mailbox.asMailbox);
  const message = { messageType: "response", correlationId: "msg_1" };
  const answer = { ...shown("m1"), message } as unknown as MailboxMessage;
  Object.defineProperty(showing, "messages", { value: [{ ...shown("m2"), message: { ...message, correlationId: "msg_2" } }, answer] });
  const asked: Asked = { openintent_asked: "msg_1", until: Date.now() + 60_000 };
  assert.equal(answerTo(asked, showing), answer.text);
  assert.deepEqual(showing.unheld, ["m2"]);
  assert.equal(answerTo({ ...asked, openintent_asked: "msg_3" }, showing), undefined);
  assert.match(answerTo({ openintent_asked: "msg_3", until: Date.now() - 1 }, showing)!, /^Nobody has answered msg_3 in time\./);
  assert.ok(patienceFor([asked, { ...asked, until: Infinity }]) > 50 && patienceFor([asked]) <= 60);
  assert.equal(patienceFor([{ ...asked, until: 0 }]), 0);
  assert.deepEqual([askedIn(asked), askedIn({ openintent_asked: "msg_1" }), askedIn(null), askedIn("text")], [asked, undefined, undefined, undefined]);
});

test("a question is asked under its key, and a refusal is a sentence", async () => {
  const sent: unknown[] = [];
  const createdAt = new Date(1_000_000);
  const send = async (...given: unknown[]): Promise<object> => (sent.push(given), { id: "msg_1", createdAt });
  const asking = (mailbox: object, wait_seconds?: unknown): Promise<Asked | string> =>
    sendQuestion(mailbox as Mailbox, { channel: "talk", to: "ann", question: "when?", wait_seconds }, "key");
  assert.deepEqual(await asking({ send }, 60), { openintent_asked: "msg_1", until: 1_060_000 });
  assert.deepEqual(sent, [["talk", { text: "when?" }, { to: "ann", messageType: "request", idempotencyKey: "key" }]]);
  assert.deepEqual(await asking({ send }), { openintent_asked: "msg_1", until: 4_600_000 });
  assert.deepEqual(await asking({ send }, 1e9), { openintent_asked: "msg_1", until: 73_000_000 });
  const refused = errorFrom({ code: "NOT_FOUND", reason: "CHANNEL_NOT_FOUND", message: "there is no such channel" });
  assert.equal(await asking({ send: () => Promise.reject(refused) }), "Refused: there is no such channel");
  await assert.rejects(asking({ send: () => Promise.reject(new Error("broken")) }), /broken/);
});

test("options that are not known or out of bounds are refused", async () => {
  const { asMailbox } = new FakeMailbox();
  const serving = (options: object): Promise<void> => serveRuns(asMailbox, options, servingNames, async () => {});
  await assert.rejects(serving({ drainSecond: 1 }), /serve has no option drainSecond; did you mean drainSeconds\?/);
  await assert.rejects(serving({ drainSeconds: -1 }), /drainSeconds must be a number of 0 or more/);
  await assert.rejects(serving({ mostFailures: 0 }), /mostFailures must be a whole number of 1 or more/);
});

test("messages are one text, and a history holds those whose lines it has", () => {
  const messages = [shown("m1"), shown("m2")];
  const text = textOf(messages);
  assert.match(text, /^Messages for you, one in a line\..*\n\{"id":"m1".*\n\{"id":"m2".*$/);
  assert.equal(textOf([]), "");
  assert.deepEqual(unheld(messages, [textOf([shown("m1")]), 'he said {"id":"m2"}']), [shown("m2")]);
});

test("the key of a tool call is made of all its names", () => {
  assert.equal(callKey("run", "call"), callKey("run", "call"));
  assert.notEqual(callKey("run", "call"), callKey("runcall"));
  assert.match(callKey("run"), /^mailbox-call-[0-9a-f]{40}$/);
});

test("a missing framework is a sentence that says what to install", async () => {
  const missing = "a-framework-that-is-nowhere";
  const loading = framework("ai", "ai@7", () => import(missing));
  await assert.rejects(loading, { message: "@openintent/channels/ai needs its framework: npm install ai@7" });
  await assert.rejects(framework("ai", "ai@7", () => Promise.reject(new Error("another"))), /^Error: another$/);
});
