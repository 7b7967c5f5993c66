import { setTimeout } from "node:timers/promises";
import { HeldInBackground } from "./held.js";
import { step, type Step } from "./step.js";

/** The pause between two looks at something that cannot be waited for, in milliseconds; the scenario's end bounds them. */
export const interval = 50;

/** What the steps on threads, edits, searches, reactions, claims and attention do. */
export const conversing: Record<string, Step> = {
  thread: step(["channel", "message"], async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).thread(fields["message"]),
  ),
  edit: step(["channel", "message", "payload", "metadata", "subject", "mentions", "supersede"], async ({ play, as, fields }) => {
    const { channel, message, ...options } = fields;
    return (await play.handle(as, channel)).edit(message, options);
  }),
  delete: step(["channel", "message"], async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).delete(fields["message"]),
  ),
  revisions: step(["channel", "message"], async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).revisions(fields["message"]),
  ),
  search: step(["channel", "q", "sender", "kind", "thread_id", "limit", "count"], async ({ play, as, fields }) => {
    const { id: channelId } = await play.handle(as, fields["channel"]);
    const { sender, kind, thread_id: threadId, limit } = fields;
    for (;;) {
      const { messages } = await play.client(as).searchMessages(fields["q"], { channelId, sender, kind, threadId, limit });
      if (messages.length >= (fields["count"] ?? 0)) {
        return messages;
      }
      await setTimeout(interval);
    }
  }),
  react: step(["channel", "message", "signal", "note", "eta"], async ({ play, as, fields }) => {
    const { channel, message, signal, ...options } = fields;
    return (await play.handle(as, channel)).react(message, signal, options);
  }),
  unreact: step(["channel", "message", "signal"], async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).unreact(fields["message"], fields["signal"]),
  ),
  reactions: step(["channel", "message"], async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).reactions(fields["message"]),
  ),
  discharge: step(["channel", "message", "note"], async ({ play, as, fields }) => {
    const { channel, message, ...options } = fields;
    return (await play.handle(as, channel)).discharge(message, options);
  }),
  obligations: step(["side"], async ({ play, as, fields }) =>
    play.client(as).listObligations(play.names.own(as!), fields["side"]),
  ),
  concerns: step(["kind", "count"], async ({ play, as, fields }) => {
    for (;;) {
      const { concerns } = await play.client(as).concerns({ kind: fields["kind"] });
      if (concerns.length === fields["count"]) {
        return concerns;
      }
      await setTimeout(interval);
    }
  }),
  claim: step(["channel", "message"], async ({ play, as, fields, saveAs }) => {
    const { claim, held } = await HeldInBackground.take(await play.handle(as, fields["channel"]), fields["message"]);
    play.claims.set(saveAs!, held);
    return { messageId: claim.messageId, fence: claim.fence };
  }),
  release_claim: step(["claim"], async ({ play, fields }) => {
    const held = play.claims.get(fields["claim"]);
    if (held === undefined) {
      throw new Error(`There is no claim ${fields["claim"]}.`);
    }
    play.claims.delete(fields["claim"]);
    await held.release();
    return null;
  }),
  attention: step(["channel", "message", "agent"], async ({ play, as, fields }) => {
    const handle = await play.handle(as, fields["channel"]);
    return (await handle.attention(fields["message"], { agentId: fields["agent"] })).attention;
  }),
  dispositions: step(["channel", "message", "count"], async ({ play, as, fields }) => {
    const { id } = await play.handle(as, fields["channel"]);
    const agent = as === undefined ? undefined : play.names.own(as);
    for (;;) {
      const found = await play.stage.dispositions(id, fields["message"], agent);
      if (Object.keys(found).length >= fields["count"]) {
        return Object.fromEntries(Object.entries(found).map(([name, what]) => [play.names.plain(name), what]));
      }
      await setTimeout(interval);
    }
  }),
};
