import { setTimeout } from "node:timers/promises";
import type { CreateChannelOptions } from "../../src/channels.js";
import { conversing, interval } from "./conversing.js";
import { BackgroundFollowing } from "./followings.js";
import { expectTogether } from "./handled.js";
import { mailing } from "./mailboxes.js";
import type { Play } from "./play.js";
import { checkAgent, type AgentFile, type Values } from "./scenario.js";
import { step, type Step } from "./step.js";

function channelOptions({ members, member_policy, options }: Values): CreateChannelOptions {
  const { audit, ttl_seconds: ttlSeconds, max_messages: maxMessages } = options ?? {};
  const { turn_budget: turnBudget, conversation_budget: conversationBudget } = options ?? {};
  return { members, memberPolicy: member_policy, options: { audit, ttlSeconds, maxMessages, turnBudget, conversationBudget } };
}

const channelFields = ["channel", "members", "member_policy", "options"];
const saidFields = ["parent", "subject", "kind", "priority", "mentions", "directedness", "policy"];
const sendFields = ["channel", "to", "payload", "message_type", "metadata", "expires_in", "sender", "collect", "obligation", ...saidFields];
const askFields = ["channel", "to", "payload", "timeout", "min_responses", "sender", "metadata", "collect", "fail_fast", ...saidFields];
const replyFields = ["channel", "message", "payload", "metadata", "fence", ...saidFields];

/** What a message says beside its payload. */
function said({ parent, subject, kind, priority, mentions, directedness, policy, collect, obligation }: Values): Values {
  return { parent, subject, kind, priority, mentions, directedness, policy, collect, obligation };
}

function sendOptions(fields: Values): Values {
  const { message_type: messageType, metadata, expires_in: expiresIn, sender } = fields;
  const expiresAt = expiresIn === undefined ? undefined : new Date(Date.now() + expiresIn * 1000);
  return { messageType, metadata, expiresAt, sender, ...said(fields) };
}

function askOptions(fields: Values): Values {
  const { timeout, min_responses: minResponses, sender, metadata, fail_fast: failFast } = fields;
  return { timeout, minResponses, sender, metadata, failFast, ...said(fields) };
}

/** What the steps of scenarios do. */
export const steps: Record<string, Step> = {
  create_channel: step(channelFields, async ({ play, as, fields }) => {
    const channel = await play.client(as).createChannel(play.intentId, fields["channel"], channelOptions(fields));
    play.keepCreated(channel);
    return channel;
  }),
  open_intent: step(["title"], ({ play, as, fields }) => play.client(as).intents.open(fields["title"])),
  open: step(channelFields, ({ play, as, fields }) =>
    play.client(as).channels.open(fields["channel"], play.intentId, channelOptions(fields)),
  ),
  close_channel: step(["channel"], async ({ play, as, fields }) => (await play.handle(as, fields["channel"])).close()),
  get_channel: step(["channel"], async ({ play, as, fields }) =>
    play.client(as).getChannel((await play.handle(as, fields["channel"])).id),
  ),
  list_channels: step([], ({ play, as }) => play.client(as).listChannels(play.intentId)),
  send: step(sendFields, async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).send(fields["payload"], { to: fields["to"], ...sendOptions(fields) }),
  ),
  notify: step(sendFields, async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).notify(fields["to"], fields["payload"], sendOptions(fields)),
  ),
  broadcast: step(sendFields, async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).broadcast(fields["payload"], sendOptions(fields)),
  ),
  ask: step(askFields, async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).ask(fields["to"], fields["payload"], askOptions(fields)),
  ),
  ask_all: step(askFields, async ({ play, as, fields }) =>
    (await play.handle(as, fields["channel"])).askAll(fields["to"], fields["payload"], askOptions(fields)),
  ),
  ask_all_iter: step(askFields, async ({ play, as, fields }) => {
    const handle = await play.handle(as, fields["channel"]);
    const came = [];
    for await (const response of handle.askAllIter(fields["to"], fields["payload"], askOptions(fields))) {
      came.push(response);
    }
    return came;
  }),
  resume_ask: step(["channel", "message", "timeout"], async ({ play, as, fields }) =>
    play
      .client(as)
      .resumeAsk((await play.handle(as, fields["channel"])).id, fields["message"], { timeout: fields["timeout"] }),
  ),
  reply: step(replyFields, async ({ play, as, fields }) => {
    const { id } = await play.handle(as, fields["channel"]);
    const { message, payload, metadata, fence } = fields;
    return play.client(as).replyTo(id, message, payload, { metadata, fence, ...said(fields) });
  }),
  list_messages: step(["channel", "since", "to", "limit", "message_type", "thread_id"], async ({ play, as, fields }) => {
    const { channel, message_type: messageType, thread_id: threadId, ...selection } = fields;
    return play.client(as).listMessages((await play.handle(as, channel)).id, { ...selection, messageType, threadId });
  }),
  get_message: step(["channel", "message"], async ({ play, as, fields }) =>
    play.client(as).getMessage((await play.handle(as, fields["channel"])).id, fields["message"]),
  ),
  mark_read: step(["channel", "message"], async ({ play, as, fields }) =>
    play.client(as).markRead((await play.handle(as, fields["channel"])).id, fields["message"]),
  ),
  follow: step(["channel"], async ({ play, as, fields, saveAs }) => {
    const following = new BackgroundFollowing(await play.handle(as, fields["channel"]));
    await following.start();
    play.followings.set(saveAs!, following);
    return null;
  }),
  followed: step(["follow", "count"], ({ play, fields }) => following(play, fields).count(fields["count"])),
  follow_ends: step(["follow"], ({ play, fields }) => following(play, fields).end()),
  wait: step(["background"], ({ play, fields }) => {
    const result = play.background.get(fields["background"]);
    if (result === undefined) {
      throw new Error(`Nothing runs as ${fields["background"]}.`);
    }
    return result;
  }),
  wait_handled: step(["agent", "count"], async ({ play, fields }) => {
    await play.cast.handled(play.names.plain(fields["agent"]), fields["count"]);
    return null;
  }),
  handled: step(["agent", "count"], async ({ play, fields }) => {
    const messages = await play.cast.handled(play.names.plain(fields["agent"]), fields["count"]);
    return messages.map(({ id, payload, attention }) => ({ id, payload, attention }));
  }),
  together: step(["agent", "messages"], async ({ play, fields }) => {
    expectTogether(await play.cast.these(play.names.plain(fields["agent"]), fields["messages"]));
    return null;
  }),
  digested: step(["agent", "count"], ({ play, fields }) => play.cast.digested(play.names.plain(fields["agent"]), fields["count"])),
  start_agent: step(["agent"], async ({ play, fields, where }) => {
    checkAgent(fields["agent"] as AgentFile, where);
    await play.cast.start(fields["agent"] as AgentFile);
    return null;
  }),
  stop_agent: step(["agent"], async ({ play, fields }) => {
    await play.cast.stop(play.names.plain(fields["agent"]));
    return null;
  }),
  status_note: step(["agent", "note"], async ({ play, fields }) => {
    play.cast.note(play.names.plain(fields["agent"]), fields["note"]);
    return null;
  }),
  deregister: step(["agent"], async ({ play, fields }) => {
    await play.stage.deregister(fields["agent"]);
    return null;
  }),
  presence: step(["agent", "note", "status"], async ({ play, as, fields }) => {
    const agent = as === undefined ? undefined : play.names.own(as);
    for (;;) {
      const record = await play.stage.presence(fields["agent"], agent);
      if ((record.statusNote ?? "") === fields["note"] && (fields["status"] ?? record.status) === record.status) {
        return record;
      }
      await setTimeout(interval);
    }
  }),
  reach: step(["agent", "level"], async ({ play, as, fields }) => {
    for (;;) {
      const { agentId, level, paths, waiting } = await play.client(as).reach(fields["agent"]);
      if (level === fields["level"]) {
        return { agentId, level, paths: paths.map(({ kind }) => kind), waiting: waiting && waiting.count };
      }
      await setTimeout(interval);
    }
  }),
  probe: step(["agent"], ({ play, as, fields }) =>
    play.stage.probe(fields["agent"], as === undefined ? undefined : play.names.own(as)),
  ),
  release: step(["gate"], async ({ play, fields }) => {
    play.cast.release(fields["gate"]);
    return null;
  }),
  set_status: step(["status"], ({ play, fields }) =>
    play.client(undefined).intents.setStatus(play.intentId, fields["status"]),
  ),
  set_access: step(["default_policy", "entries"], async ({ play, fields }) => {
    await play.stage.setAccess(play.intentId, fields);
    return null;
  }),
  remove_member: step(["channel", "agent"], async ({ play, fields }) => {
    const { id } = await play.handle(undefined, fields["channel"]);
    await play.stage.removeMember(id, fields["agent"]);
    return play.client(undefined).getChannel(id);
  }),
  restart: step([], ({ play }) => play.stage.control("restart")),
  kill: step([], ({ play }) => play.stage.control("kill")),
  move: step([], ({ play }) => play.stage.control("move")),
  use_replica: step(["client", "replica"], async ({ play, fields }) => {
    play.useReplica(fields["client"], fields["replica"]);
    return null;
  }),
  ...conversing,
  ...mailing,
};

function following(play: Play, fields: Values): BackgroundFollowing {
  const found = play.followings.get(fields["follow"]);
  if (found === undefined) {
    throw new Error(`Nobody follows as ${fields["follow"]}.`);
  }
  return found;
}
