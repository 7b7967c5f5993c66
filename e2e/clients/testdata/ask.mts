// Asks a question and answers it, with types made of the OpenAPI document. It prints the answer, and the reason of a refusal.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";

const as = (agent: string) =>
  createClient<paths>({
    baseUrl: process.env.OPENINTENT_URL!,
    headers: { "X-API-Key": process.env.OPENINTENT_API_KEY!, "X-Agent-ID": agent },
  });
const alice = as("alice");
const bob = as("bob");

function must<T>(result: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (result.data === undefined) throw new Error(result.error?.detail);
  return result.data;
}

const intent = must(await alice.POST("/v1/intents", { body: { title: "Ask over REST" } }));
const channel = must(
  await alice.POST("/v1/intents/{intent_id}/channels", { params: { path: { intent_id: intent.id } }, body: { name: "questions" } }),
);

async function answerOne() {
  const inbox = must(await bob.GET("/v1/agents/{agent_id}/inbox", { params: { path: { agent_id: "bob" }, query: { wait_seconds: 60 } } }));
  for (const { message } of inbox.items) {
    must(
      await bob.POST("/v1/channels/{channel_id}/messages/{message_id}/reply", {
        params: { path: { channel_id: message.channel_id, message_id: message.id } },
        body: { payload: { text: `${message.payload.text} Yes.` } },
      }),
    );
  }
}

const answering = answerOne();
const answer = must(
  await alice.POST("/v1/channels/{channel_id}/ask", {
    params: { path: { channel_id: channel.id }, header: { "Idempotency-Key": "once" } },
    body: { to: "bob", payload: { text: "Does it work?" }, timeout_seconds: 60 },
  }),
);
await answering;
console.log(answer.sender, answer.message_type, answer.payload.text);

const refused = await alice.GET("/v1/channels/{channel_id}", { params: { path: { channel_id: "chan_nowhere" } } });
console.log(refused.error?.status, refused.error?.reason);
