// An operator looks around: which agents hear, what a subscription has given up, where something was said, who has keys, how the server does.
import assert from "node:assert/strict";

import { checkAccessibility, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key } = process.env;
const team = new Team(address, key);

// The worker comes for three deliveries and never says that they are done, so the subscription gives them up.
const intent = await team.intent("lead", "Move the archive");
const channel = await team.channel("lead", intent, "boxes");
await team.call("worker", "POST", "agents/register", { agent_id: "worker", capabilities: ["lifting"] });
await team.call("worker", "POST", "agents/worker/heartbeat", { status_note: "lifting box three" });
const subscription = await team.call("worker", "POST", "subscriptions", { name: "boxes", channel_id: channel.id, acknowledge_seconds: 1, max_attempts: 1 });
const last = [];
for (const number of [1, 2, 3]) {
  last.push(await team.say("lead", channel, `Box ${number} waits at the zeppelin.`));
}
for (let given = 0; given < 3; ) {
  await team.call("worker", "GET", `subscriptions/${subscription.id}/deliveries?wait_seconds=1`);
  given = (await team.call("worker", "GET", `subscriptions/${subscription.id}`)).dead_letter_count;
}

await withPage(address, { viewport: { width: 1280, height: 800 } }, async (page) => {
  const heading = (name) => page.getByRole("heading", { level: 1, name }).waitFor();
  const menu = (name) => page.getByRole("navigation", { name: "Console" }).getByRole("link", { name }).click();
  await signIn(page, address, { key });

  await menu("Agents");
  const row = page.locator("[data-agent-id=worker]");
  await row.getByText("lifting box three").waitFor();
  await checkAccessibility(page, "agents");
  await row.getByRole("link", { name: "worker" }).click();
  await heading("worker");
  const own = page.locator(`[data-subscription-id=${subscription.id}]`);
  await own.getByText("3 deliveries given up").waitFor();
  await own.getByText("ago").or(own.getByText("now")).first().waitFor();
  await checkAccessibility(page, "an agent");

  await own.getByRole("link", { name: "boxes", exact: true }).click();
  await heading("Subscriptions");
  await page.getByRole("list", { name: "Deliveries that were given up" }).getByText("Box 2 waits").waitFor();
  await checkAccessibility(page, "subscriptions");
  await own.getByRole("button", { name: "Redrive" }).click();
  await page.getByText("3 deliveries of “boxes” are due again.").waitFor();

  await page.locator("main").press("/");
  const box = page.getByRole("searchbox", { name: "Search" });
  await box.waitFor();
  await page.getByRole("button", { name: "Intent", exact: true }).click();
  await page.getByLabel("Intent").fill("Move the archive");
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.waitForURL((url) => url.searchParams.get("intent_id") === intent.id);
  await box.fill("zeppelin box");
  const found = page.getByRole("list", { name: "Messages that were found" });
  await found.getByRole("listitem").nth(2).waitFor();
  assert.deepEqual(await found.getByRole("listitem").first().locator("mark").allTextContents(), ["Box", "zeppelin"]);
  await checkAccessibility(page, "search");
  await box.fill(last[0].id);
  await box.press("Enter");
  await page.getByRole("log", { name: "Messages" }).locator(`[data-message-id=${last[0].id}]`).waitFor();

  await menu("Keys");
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Label").fill("Night shift");
  await dialog.getByRole("textbox", { name: "Agents" }).fill("worker, carrier");
  await checkAccessibility(page, "making a key");
  await dialog.getByRole("button", { name: "Create key" }).click();
  const first = await secretOf(page);
  const made = page.locator("[data-key-id]").filter({ hasText: "Night shift" });
  await checkAccessibility(page, "keys");
  await made.getByRole("button", { name: "Rotate" }).click();
  await dialog.getByLabel("The present secret works").selectOption("no longer");
  await dialog.getByRole("button", { name: "Rotate key" }).click();
  const second = await secretOf(page);
  assert.equal(await answered(first), 401, "the former secret has ended");
  assert.equal(await answered(second), 200);
  await made.getByRole("button", { name: "Revoke" }).click();
  await dialog.getByRole("button", { name: "Revoke key" }).click();
  await made.waitFor({ state: "detached" });
  assert.equal(await answered(second), 401);

  await menu("Server");
  await page.getByText("it stores").waitFor();
  await page.getByRole("rowheader", { name: "Stored messages" }).waitFor();
  await checkAccessibility(page, "the server");
});

/** secretOf reads the secret that is shown once, and closes it for good. */
async function secretOf(page) {
  const secret = await page.getByRole("textbox", { name: "Secret" }).inputValue();
  assert.match(secret, /^oi_\w{49}$/);
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes(secret), "the page has the secret no longer");
  return secret;
}

/** answered says how the server answers a call with a key's secret. */
async function answered(secret) {
  return (await fetch(`${address}/v1/whoami`, { headers: { "X-API-Key": secret, "X-Agent-ID": "carrier" } })).status;
}
