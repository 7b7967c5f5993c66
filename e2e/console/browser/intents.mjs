// Somebody leads an intent from its first line to its end, and follows what became of the requests in it.
import assert from "node:assert/strict";

import { checkAccessibility, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key } = process.env;
const team = new Team(address, key);

await withPage(address, { viewport: { width: 1280, height: 800 } }, async (page) => {
  const heading = (name) => page.getByRole("heading", { level: 1, name }).waitFor();
  const menu = (name) => page.getByRole("navigation", { name: "Console" }).getByRole("link", { name }).click();
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  const dialog = page.getByRole("dialog");
  const submit = (name) => dialog.getByRole("button", { name, exact: true }).click();
  await signIn(page, address, { key, agent: "lead" });

  await menu("Intents");
  await press("Create intent");
  await dialog.getByLabel("Title").fill("Move the archive");
  await dialog.getByLabel("Start at once").uncheck();
  await checkAccessibility(page, "making an intent");
  await submit("Create intent");
  await heading("Move the archive");
  const intent = { id: page.url().split("/").at(-1) };
  await page.getByText("draft", { exact: true }).waitFor();
  await press("Start");
  await page.getByText("active", { exact: true }).waitFor();

  await press("Assign");
  await dialog.getByLabel("Agent").fill("worker");
  await dialog.getByLabel("What it does there").fill("carries boxes");
  await submit("Assign");
  const members = page.getByRole("list", { name: "Members" });
  await members.getByText("carries boxes").waitFor();
  await press("Name a coordinator");
  await dialog.getByLabel("Agent").fill("chief");
  await submit("Name coordinator");
  await members.getByText("coordinates").waitFor();

  await press("Make a channel");
  await dialog.getByLabel("Name").fill("boxes");
  await checkAccessibility(page, "making a channel");
  await submit("Make channel");
  await heading("boxes");
  const channel = { id: page.url().split("/").at(-1) };
  const ledger = await team.channel("lead", intent, "ledger", { options: { audit: true } });
  await team.call("lead", "POST", `intents/${intent.id}/tasks`, { name: "Carry box one" });
  await team.call("lead", "POST", `intents/${intent.id}/leases`, { scope: "cellar/door", duration_seconds: 600 });
  await team.call("lead", "POST", `intents/${intent.id}/state`, { patches: [{ op: "set", path: "boxes", value: 12 }], expected_version: 2 });

  const asked = await team.ask("lead", channel, "worker", "Where is box one?", { collect: "one", expires_in_seconds: 600 });
  await team.call("worker", "GET", "agents/worker/inbox");
  await team.claim("worker", asked);
  await team.react("worker", asked, "working", { note: "on the stairs" });
  await team.reply("worker", asked, { text: "In the cellar.", shelf: 4 });
  const waiting = await team.ask("lead", channel, "worker", "And box two?", { expires_in_seconds: 600 });
  const kept = await team.ask("lead", ledger, "worker", "Who signs for box three?");

  await menu("Intents");
  const row = page.locator(`[data-intent-id="${intent.id}"]`);
  await row.waitFor();
  await checkAccessibility(page, "intents");
  await row.getByRole("link", { name: "Move the archive" }).click();
  await page.locator(`[data-channel-id=${channel.id}]`).getByText("3 messages").waitFor();
  await page.getByRole("list", { name: "Tasks" }).getByText("Carry box one").waitFor();
  await page.getByRole("list", { name: "Leases" }).getByText("cellar/door").waitFor();
  await page.getByText("12", { exact: true }).waitFor();
  await press("Verify the log");
  await page.getByRole("status", { name: "Verification" }).getByText(/^All \d+ events hold/).waitFor();
  const events = page.getByRole("list", { name: "Events" });
  await events.getByRole("link", { name: "task.created" }).first().click();
  await page.waitForURL((url) => url.searchParams.get("event") === "task.created");
  await events.getByText("intent_created").waitFor({ state: "detached" });
  await events.getByRole("button").first().click();
  await checkAccessibility(page, "an intent");

  await page.goto(`${address}/console/messages/${asked.id}`);
  const message = page.locator(`[data-message-id=${asked.id}]`);
  await message.hover();
  await message.getByRole("link", { name: "How it went" }).click();
  await heading("Where is box one?");
  const steps = page.getByRole("list", { name: "What happened" }).getByRole("listitem");
  for (const step of ["Offered to worker", "Claimed by worker", "“working” by worker, on the stairs", "Answered by worker"]) {
    await steps.filter({ hasText: step }).waitFor();
  }
  const words = (await steps.allTextContents()).map((text) => text.replaceAll("\u00a0", " "));
  const order = ["Sent and stored", "Offered to", "Claimed by", "Answered by"].map((word) => words.findIndex((text) => text.includes(word)));
  assert.deepEqual(order, [...order].sort((a, b) => a - b), words.join("; "));
  await page.getByRole("region", { name: "Reply" }).getByText("In the cellar.").waitFor();
  await page.getByRole("region", { name: "Why was it woken?" }).getByText("The message is for this agent itself.").waitFor();
  await checkAccessibility(page, "a request with its answer");

  await page.goto(`${address}/console/requests/${kept.id}`);
  await page.getByText("This channel is audited").waitFor();
  assert.ok(await page.getByRole("button", { name: "Withdraw" }).isDisabled(), "what the log keeps cannot be withdrawn");

  await page.goto(`${address}/console/requests/${waiting.id}`);
  await press("Withdraw");
  await checkAccessibility(page, "a request that waits");
  await press("Withdraw for good");
  await heading("A withdrawn request");
  await steps.filter({ hasText: "Withdrawn" }).waitFor();

  await page.goto(`${address}/console/intents/${intent.id}`);
  await press("End");
  await dialog.getByLabel("Why").fill("All boxes have arrived.");
  await checkAccessibility(page, "ending an intent");
  await submit("End it for good");
  await page.getByText("completed", { exact: true }).waitFor();
  await page.locator(`[data-channel-id=${channel.id}]`).getByText("closed").waitFor();
  assert.equal(await page.getByRole("button", { name: "End" }).count(), 0);
});

// Whoever was asked answers on the request's own page, and learns no more of others than they may.
const intent = await team.intent("lead", "Sell the shelves");
const channel = await team.channel("lead", intent, "shelves");
const request = await team.ask("lead", channel, "worker", "What is a shelf worth?");
await withPage(address, { viewport: { width: 1280, height: 800 } }, async (page) => {
  await signIn(page, address, { key, agent: "worker" });
  await page.goto(`${address}/console/requests/${request.id}`);
  await page.getByText("Only the sender and the operator see").waitFor();
  await page.getByRole("region", { name: "Why was it woken?" }).getByText("An answer is expected of it.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Withdraw" }).count(), 0);
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByRole("textbox", { name: "Answer" }).fill("Four crowns.");
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.getByRole("region", { name: "Reply" }).getByText("Four crowns.").waitFor();
  await page.getByText("answered after").waitFor();
  await checkAccessibility(page, "a request for the one who was asked");
});
