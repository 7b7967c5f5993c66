// What comes while somebody looks shows by itself, what was seen counts as read, and what was sent and lost its answer on the way is sent once.
import assert from "node:assert/strict";

import { holdAnswer, live, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key } = process.env;
const team = new Team(address, key);
const wide = { viewport: { width: 1280, height: 800 } };
const intent = await team.intent("lead", "Move the archive");
const channel = await team.channel("lead", intent, "boxes");
const first = await team.say("lead", channel, "Box one is full.", { to: "anna" });
const inbox = async () => (await team.call("anna", "GET", "agents/anna/inbox?limit=500")).items;

await withPage(address, wide, async (page) => {
  await signIn(page, address, { key, agent: "anna" });
  await page.getByText("Nothing needs you.").waitFor();
  assert.equal(await page.title(), "What needs you · openintent");
  const request = await team.ask("lead", channel, "anna", "Which cellar?", { expires_in_seconds: 3600 });
  const question = page.locator("[data-concern=question]").filter({ hasText: "Which cellar?" });
  // The page also asks once a minute, which would be too late.
  await question.waitFor({ timeout: 40_000 });
  assert.equal(await page.title(), "(1) What needs you · openintent");
  assert.match(await page.locator('link[rel="icon"]').getAttribute("href"), /icon-needed/);

  await question.getByRole("button", { name: "Answer" }).click();
  await page.getByRole("textbox", { name: "Answer" }).fill("The dry one.");
  await loseAnswer(page, "**/reply");
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.getByRole("alert").filter({ hasText: "The server does not answer." }).waitFor();
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.getByText("Nothing needs you.").waitFor();
  const thread = await team.call("lead", "GET", `channels/${channel.id}/messages/${request.id}/thread`);
  assert.deepEqual(thread.messages.map(({ payload }) => payload.text), ["The dry one."], "the answer is there once");

  const marked = page.waitForResponse((response) => response.url().endsWith("/inbox/read"));
  await page.goto(`${address}/console/channels/${channel.id}`);
  const log = page.getByRole("log", { name: "Messages" });
  await log.locator(`[data-message-id=${first.id}]`).waitFor();
  assert.ok((await marked).ok());
  assert.ok((await inbox()).every(({ message, read }) => message.id !== first.id || read), "what was in view is read");

  const field = page.getByRole("textbox", { name: "Message", exact: true });
  const send = page.getByRole("button", { name: "Send", exact: true });
  const fails = page.getByRole("alert").filter({ hasText: "The server does not answer." });
  await field.fill("Once and not twice.");
  await loseAnswer(page, `**/channels/${channel.id}/messages`);
  await send.click();
  await fails.waitFor();
  assert.equal(await field.inputValue(), "Once and not twice.");
  await send.click();
  await page.waitForFunction((field) => field.value === "", await field.elementHandle());
  const said = await team.call("lead", "GET", `channels/${channel.id}/messages?limit=1000`);
  assert.equal(said.filter(({ payload }) => payload.text === "Once and not twice.").length, 1, "it is stored once");
  await log.getByText("Once and not twice.").waitFor();
  assert.equal(await log.getByText("Once and not twice.").count(), 1, "and shown once");

  const release = await holdAnswer(page, `**/channels/${channel.id}/messages`);
  await field.fill("The beginning.");
  await send.click();
  await field.press("End");
  await field.pressSequentially(" And more.");
  await release();
  await page.waitForFunction((field) => !field.value.startsWith("The beginning."), await field.elementHandle());
  assert.equal(await field.inputValue(), " And more.", "what was written meanwhile is still there");
});

await team.say("lead", channel, "Box two is full.");
await withPage(address, wide, async (page) => {
  await signIn(page, address, { key, agent: "anna" });
  await page.goto(`${address}/console/channels/${channel.id}`);
  await live(page);
  const fresh = page.getByRole("separator", { name: "New since your last visit" });
  await fresh.waitFor();
  assert.equal(await fresh.count(), 1);
  const after = await fresh.evaluate((line) => line.parentElement.querySelector("article").textContent);
  assert.ok(after.includes("Box two is full."), "the line stands before the first message that nobody has read");
});

// A page of messages ends at 3 MiB. Older ones come when the reader scrolls up, although there were few on the page.
const inventory = await team.channel("lead", intent, "inventory");
await team.say("lead", inventory, "The first box.");
for (let box = 0; box < 14; box++) {
  await team.say("lead", inventory, "x".repeat(250_000));
}
await withPage(address, wide, async (page) => {
  await signIn(page, address, { key, agent: "anna" });
  await page.goto(`${address}/console/channels/${inventory.id}`);
  await page.getByRole("log", { name: "Messages" }).waitFor();
  await page.waitForFunction(() => {
    const log = document.querySelector("[role=log]");
    log.scrollTop = 0;
    return log.textContent.includes("The first box.");
  });
});

// The server looks at so much for one page of concerns. If it finds nothing in that, the console asks on.
await team.ask("lead", channel, "anna", "Which van?", { expires_in_seconds: 3600 });
await withPage(address, wide, async (page) => {
  await page.route(/v1\/concerns/, async (route) => {
    if (new URL(route.request().url()).searchParams.has("cursor")) {
      await route.fulfill({ response: await route.fetch({ url: `${address}/v1/concerns?limit=100` }) });
    } else {
      await route.fulfill({ json: { concerns: [], next_cursor: "on" } });
    }
  });
  await signIn(page, address, { key, agent: "anna" });
  await page.locator("[data-concern=question]").filter({ hasText: "Which van?" }).waitFor();
});

// A page to which somebody comes back is where they left it.
for (let shelf = 1; shelf <= 15; shelf++) {
  await team.channel("lead", intent, `shelf-${shelf}`);
}
await withPage(address, { viewport: { width: 1280, height: 400 } }, async (page) => {
  await signIn(page, address, { key, agent: "anna" });
  await page.goto(`${address}/console/intents/${intent.id}`);
  const last = page.getByRole("list", { name: "Channels" }).getByRole("link", { name: "shelf-15" });
  await last.scrollIntoViewIfNeeded();
  const top = await page.locator("main").evaluate((main) => main.scrollTop);
  assert.ok(top > 100);
  await last.click();
  await page.getByRole("heading", { level: 1, name: "shelf-15" }).waitFor();
  await page.goBack();
  await page.waitForFunction((top) => Math.abs(document.querySelector("main").scrollTop - top) < 40, top);
  assert.equal(await page.evaluate(() => document.activeElement.localName), "main", "the keys that scroll do");
});

/** loseAnswer lets the next call reach the server, and its answer get lost. */
function loseAnswer(page, calls) {
  return page.route(
    calls,
    async (route) => {
      await route.fetch();
      await route.abort("connectionreset");
    },
    { times: 1 },
  );
}
