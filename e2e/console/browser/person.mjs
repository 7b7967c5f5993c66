// A person uses the console without a pointer, mends what they have said, and is told of questions while they do not look. An operator gives the
// work of an agent that is gone to another one.
import assert from "node:assert/strict";

import { checkAccessibility, live, patience, signIn, withPage } from "./page.mjs";
import { PushService, standIn } from "./push.mjs";
import { showLost, Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key, PERSONS_KEY: personsKey } = process.env;
const team = new Team(address, key);
const wide = { viewport: { width: 1280, height: 800 } };

const intent = await team.intent("lead", "Move the archive", { status: "active" });
const channel = await team.channel("lead", intent, "boxes");
const ledger = await team.channel("lead", intent, "ledger", { options: { audit: true } });
await team.call("lead", "POST", `intents/${intent.id}/agents`, { agent_id: "anna", role: "sponsor" });
for (const agent of ["lead", "worker", "carrier"]) {
  await team.call(agent, "POST", "agents/register", { agent_id: agent });
  await team.call("lead", "POST", `intents/${intent.id}/agents`, { agent_id: agent });
}
const first = await team.ask("lead", channel, "anna", "May I begin?", { expires_in_seconds: 7200 });
const second = await team.ask("lead", channel, "anna", "Which cellar?", { expires_in_seconds: 7200 });

/** focused is the value of an attribute of what has the focus. */
const focused = (page, attribute) => page.evaluate((name) => document.activeElement?.closest(`[${name}]`)?.getAttribute(name) ?? null, attribute);
const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const opened = (page, name) => page.getByRole("dialog", { name }).waitFor();

// Keys move, open and go; they do nothing while somebody writes, and nothing when they are switched off.
await withPage(address, wide, async (page) => {
  await signIn(page, address, { key: personsKey });
  const dialog = page.getByRole("dialog", { name: "Keyboard" });
  const concerns = page.getByRole("list", { name: "What needs you" }).locator("[data-concern]");
  await concerns.nth(1).waitFor();
  const at = () => page.evaluate(() => [...document.querySelectorAll("[data-concern]")].indexOf(document.activeElement));
  for (const [pressed, place] of [["j", 0], ["j", 1], ["j", 1], ["k", 0], ["k", 0], ["Control+j", 0], ["Alt+j", 0]]) {
    await page.keyboard.press(pressed);
    assert.equal(await at(), place, pressed);
  }
  await page.keyboard.press("Enter");
  await page.locator(`article[data-message-id=${first.id}]`).waitFor();

  const box = page.getByRole("textbox", { name: "Message" });
  await box.fill("");
  await box.pressSequentially("jk?/gi");
  assert.equal(await box.inputValue(), "jk?/gi", "keys are text while somebody writes");
  assert.equal(await dialog.count(), 0);
  await box.fill("");
  await box.blur();
  await page.keyboard.press("k");
  assert.equal(await focused(page, "data-message-id"), second.id, "a log begins at its end");
  await page.keyboard.press("k");
  assert.equal(await focused(page, "data-message-id"), first.id);
  await page.keyboard.press("Enter");
  await page.getByRole("complementary", { name: "Thread" }).waitFor();

  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await heading(page, "Intents");
  await page.locator("[data-intent-id]").first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await heading(page, "Move the archive");
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await heading(page, "Agents");
  await page.locator("[data-agent-id]").first().waitFor();
  await page.keyboard.press("j");
  const agent = await focused(page, "data-agent-id");

  await page.keyboard.press("?");
  await dialog.getByText("Next agent").waitFor();
  await checkAccessibility(page, "the help");
  for (let step = 0; step < 6; step++) {
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("dialog") !== null), "the focus stays inside");
  }
  await page.keyboard.press("j");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await focused(page, "data-agent-id"), agent, "the focus comes back");

  await page.getByRole("button", { name: "Keyboard" }).click();
  await dialog.getByRole("checkbox").uncheck();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.reload();
  await page.locator("[data-agent-id]").first().waitFor();
  for (const pressed of ["j", "?", "/", "g", "i"]) {
    await page.keyboard.press(pressed);
  }
  assert.equal(await focused(page, "data-agent-id"), null);
  await page.getByRole("button", { name: "Keyboard" }).click();
  await dialog.getByRole("checkbox").check();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.getByRole("searchbox", { name: "Search" }).waitFor();
});

// What somebody has said can be mended where the server takes that.
await withPage(address, wide, async (page) => {
  await signIn(page, address, { key: personsKey });
  await page.goto(`${address}/console/channels/${channel.id}`);
  const log = page.getByRole("log", { name: "Messages" });
  const tool = async (message, name) => {
    await message.hover();
    return message.getByRole("button", { name, exact: true });
  };
  await page.getByRole("textbox", { name: "Message" }).fill("On Mondey");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const own = log.getByRole("article").filter({ hasText: "On Mondey" });
  await (await tool(own, "Edit")).click();
  const text = page.getByRole("textbox", { name: "New text" });
  assert.equal(await text.inputValue(), "On Mondey");
  await text.fill("On Monday");
  await checkAccessibility(page, "an edit");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const mended = log.getByRole("article").filter({ hasText: "On Monday" });
  await mended.getByText("edited").waitFor();
  await (await tool(mended, "Delete")).click();
  const dialog = page.getByRole("dialog", { name: "Delete this message" });
  await checkAccessibility(page, "a deletion");
  await dialog.getByRole("button", { name: "Delete for good" }).click();
  await dialog.waitFor({ state: "detached" });
  await log.getByText("This message was deleted.").waitFor();
  const others = log.locator(`[data-message-id=${first.id}]`);
  assert.equal(await (await tool(others, "Edit")).count(), 0, "what others say is theirs");
  assert.equal(await (await tool(others, "Delete")).count(), 0);

  await page.goto(`${address}/console/channels/${ledger.id}`);
  await page.getByRole("textbox", { name: "Message" }).fill("Forty boxes.");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const kept = log.getByRole("article").filter({ hasText: "Forty boxes." });
  assert.equal(await (await tool(kept, "Edit")).count(), 1);
  assert.equal(await (await tool(kept, "Delete")).count(), 0, "an audited log keeps what was sent");
});

// A person says where the server tells them of questions: at an address, and in this browser.
const posts = await standIn();
const pushes = new PushService(`${posts.address}/push/of-this-browser`);
await withPage(address, { ...wide, permissions: ["notifications"] }, async (page, context) => {
  await page.addInitScript(pushes.inBrowser());
  await signIn(page, address, { key: personsKey });
  await page.getByRole("link", { name: "Notify me elsewhere" }).click();
  await heading(page, "anna");
  const part = page.getByRole("region", { name: "When you are not looking" });
  await part.getByRole("button", { name: "Add a way" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a way to tell you" });
  await dialog.getByLabel("How").selectOption("webhook");
  await dialog.getByLabel("URL").fill("http://169.254.169.254/latest");
  await dialog.getByRole("button", { name: "Send a code there" }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("URL").fill(`${posts.address}/only-anna-knows`);
  await checkAccessibility(page, "a new way");
  await dialog.getByRole("button", { name: "Send a code there" }).click();
  const { code } = JSON.parse(String((await posts.next()).body));
  const ways = part.getByRole("list", { name: "Ways to tell you" }).getByRole("listitem");
  const webhook = ways.filter({ hasText: "Webhook" });
  await webhook.getByLabel("Code").fill(code === "00000000" ? "00000001" : "00000000");
  await webhook.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("It was not confirmed.").waitFor();
  await checkAccessibility(page, "a way that waits for its code");
  await webhook.getByLabel("Code").fill(code);
  await webhook.getByRole("button", { name: "Confirm" }).click();
  await webhook.getByText("on", { exact: true }).waitFor();

  const worker = context.waitForEvent("serviceworker");
  await part.getByRole("button", { name: "Tell me in this browser" }).click();
  const pushed = pushes.read((await posts.next()).body);
  assert.match(pushed, /"code":"\d{8}"/);
  await pushes.deliver(page, await worker, pushed);
  const here = ways.filter({ hasText: "This browser" });
  await here.getByText("on", { exact: true }).waitFor();
  assert.deepEqual(await shown(await worker), ["Your code for openintent"]);
  await checkAccessibility(page, "ways that work");

  const question = JSON.stringify({ title: "A question waits for you", body: "lead waits.", url: `https://openintent.example/console/messages/${second.id}` });
  await pushes.deliver(page, await worker, question);
  assert.deepEqual(await shown(await worker, 2), ["A question waits for you", "Your code for openintent"]);
  await (await worker).evaluate(async () => {
    // Only a browser's own events may be waited for.
    ExtendableEvent.prototype.waitUntil = () => {};
    const [notification] = (await self.registration.getNotifications()).filter(({ title }) => title.startsWith("A question"));
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
  });
  await page.locator(`article[data-message-id=${second.id}]`).waitFor();
  assert.equal(new URL(page.url()).pathname, `/console/messages/${second.id}`);

  await page.goBack();
  await webhook.getByRole("button", { name: "Remove" }).click();
  await webhook.waitFor({ state: "detached" });
  await here.getByRole("button", { name: "Remove" }).click();
  await part.getByRole("button", { name: "Tell me in this browser" }).waitFor();
  assert.deepEqual((await team.call("anna", "GET", "agents/anna/contacts")).contacts, []);
});

/** shown lists the titles of the notifications that are shown, once there are so many. */
async function shown(worker, number = 1) {
  const titles = () => worker.evaluate(async () => (await self.registration.getNotifications()).map(({ title }) => title).sort());
  const last = Date.now() + patience;
  let found = await titles();
  while (found.length < number && Date.now() < last) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    found = await titles();
  }
  return found;
}

// A browser that lets nobody notify says so.
await withPage(address, wide, async (page) => {
  await signIn(page, address, { key: personsKey });
  await page.goto(`${address}/console/agents/anna?show=contacts`);
  await page.getByRole("button", { name: "Tell me in this browser" }).click();
  await page.getByRole("alert").getByText("This browser does not let the console notify you.").waitFor();
  await checkAccessibility(page, "a browser that refuses");
});

// What an operator can do about agents that do not work is done where it stands.
const waiting = await team.ask("lead", channel, "worker", "Where is box one?", { expires_in_seconds: 7200 });
const task = await team.call("lead", "POST", `intents/${intent.id}/tasks`, { name: "Carry box one", assigned_agent: "worker" });
await withPage(address, wide, async (page) => {
  await showLost(page, task);
  await signIn(page, address, { key });
  const concerns = page.getByRole("list", { name: "What needs you" });
  await concerns.locator("[data-concern=unreachable]").filter({ hasText: "worker" }).getByRole("button", { name: "How to wake it" }).click();
  const wake = page.getByRole("dialog", { name: "How to wake it" });
  await wake.getByText("openintent wake --agent worker --exec 'codex").waitFor();
  await wake.getByLabel("The agent runs in").selectOption("OpenCode");
  await wake.getByText("--exec 'opencode run").waitFor();
  await checkAccessibility(page, "how to wake an agent");
  await page.keyboard.press("Escape");

  await concerns.locator("[data-concern=holder_lost]").getByRole("button", { name: "Reassign" }).click();
  const reassign = page.getByRole("dialog", { name: "Give the task to another agent" });
  const choice = reassign.getByLabel("Give it to");
  await choice.waitFor();
  assert.deepEqual(await choice.locator("option").allTextContents(), ["anna", "carrier", "lead", "somebody else"]);
  await checkAccessibility(page, "giving a task to another agent");
  await choice.selectOption("carrier");
  await reassign.getByRole("button", { name: "Reassign" }).click();
  await reassign.waitFor({ state: "detached" });
  assert.equal((await team.call("lead", "GET", `tasks/${task.id}`)).assigned_agent, "carrier");
  assert.ok(waiting.id);
});

// An intent's page shows what happens as it happens. It reads little that no event has changed, so without its stream it would show this too late.
await withPage(address, wide, async (page) => {
  await signIn(page, address, { key: personsKey });
  const followed = page.waitForResponse((response) => response.url().includes(`/v1/subscribe/intents/${intent.id}`));
  await page.goto(`${address}/console/intents/${intent.id}`);
  await followed;
  await page.getByRole("list", { name: "Tasks" }).getByText("Carry box one").waitFor();
  await team.call("lead", "POST", `intents/${intent.id}/tasks`, { name: "Carry box two" });
  await page.getByRole("list", { name: "Tasks" }).getByText("Carry box two").waitFor();
  await page.getByRole("list", { name: "Events" }).getByText("task.created").nth(1).waitFor();
  await team.say("lead", await team.channel("lead", intent, "shelves"), "They are empty.");
  await page.getByRole("list", { name: "Channels" }).getByText("shelves").waitFor();
});

// The person at this machine has the operator's pages, and somebody with a key of their own has not.
await withPage(address, wide, async (page) => {
  await page.goto(`${address}/console`);
  await page.getByRole("button", { name: "Continue as you" }).click();
  await live(page);
  const menu = page.getByRole("navigation", { name: "Console" });
  await menu.getByRole("link", { name: "Server" }).click();
  await page.getByText("it stores").waitFor();
  await menu.getByRole("link", { name: "Keys" }).click();
  await page.getByText("Anna", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Create key" }).click();
  await opened(page, "Create key");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Sign out" }).click();
  await signIn(page, address, { key: personsKey });
  assert.equal(await menu.getByRole("link", { name: "Server" }).count(), 0);
  await page.goto(`${address}/console/server`);
  await page.getByRole("alert").waitFor();
});

await posts.close();
