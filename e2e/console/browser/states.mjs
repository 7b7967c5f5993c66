// Looks at what pages show only after a click or a key: dialogs, tools, forms, refusals, a menu. Like every page, each of them is looked at in both
// colour schemes, on a wide screen and on a narrow one.
import { live, look, looks, signIn, withPage } from "./page.mjs";
import { standIn } from "./push.mjs";
import { showLost, Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key, PERSONS_KEY: personsKey } = process.env;
const team = new Team(address, key);

const intent = await team.intent("lead", "Move the archive", { status: "active" });
const channel = await team.channel("lead", intent, "boxes");
for (const agent of ["anna", "lead", "worker", "carrier"]) {
  await team.call("lead", "POST", `intents/${intent.id}/agents`, { agent_id: agent });
}
await team.call("anna", "POST", "agents/register", { agent_id: "anna" });
const words = await team.say("anna", channel, "We begin on Monday.");
await team.react("lead", words, "agree");
await team.say("lead", channel, "Then the van comes at eight.", { parent_id: words.id });
for (const what of ["May I begin?", "Which cellar?", "Which van?", "Who carries?"]) {
  await team.ask("lead", channel, "anna", what, { expires_in_seconds: 7200 });
}
await team.ask("lead", channel, "worker", "Where is box one?", { expires_in_seconds: 7200 });
const task = await team.call("lead", "POST", `intents/${intent.id}/tasks`, { name: "Carry box one", assigned_agent: "worker" });
const posts = await standIn();
await team.call("anna", "PUT", "agents/anna/contacts", { contacts: [{ kind: "webhook", address: `${posts.address}/only-anna-knows` }] });

for (const { name, options } of looks) {
  const narrow = options.viewport.width < 768;
  const see = (state, page) => look(page, `${state}-${name}`);
  const opened = (page, title) => page.getByRole("dialog", { name: title }).waitFor();
  const closed = async (page) => {
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };

  await withPage(address, options, async (page) => {
    await page.goto(`${address}/console`);
    await page.getByLabel("API key").fill("not a key");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await see("signing-in", page);

    await signIn(page, address, { key: personsKey });
    await page.locator("[data-concern=question]").first().waitFor();
    await page.keyboard.press("?");
    await opened(page, "Keyboard");
    await see("help", page);
    await closed(page);
    if (narrow) {
      await page.getByRole("button", { name: "Menu" }).click();
      await see("menu", page);
      await page.getByRole("button", { name: "Menu" }).click();
    }
    const first = page.locator("[data-concern=question]").first();
    await first.getByRole("button", { name: "Answer" }).click();
    await see("answering", page);
    await first.getByRole("button", { name: "Cancel" }).click();
    await first.getByRole("checkbox", { name: "Choose" }).check();
    await see("chosen", page);
    await page.getByRole("toolbar", { name: "With all that are chosen" }).getByRole("button", { name: "Later" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    await see("undo", page);

    await page.goto(`${address}/console/agents/anna?show=contacts`);
    await page.getByRole("list", { name: "Ways to tell you" }).getByRole("listitem").waitFor();
    await see("contacts", page);
    await page.getByRole("button", { name: "Add a way" }).click();
    await opened(page, "Add a way to tell you");
    await see("add", page);
    await closed(page);
    await page.getByRole("button", { name: "Tell me in this browser" }).click();
    await page.getByRole("alert").waitFor();
    await see("push", page);

    await page.goto(`${address}/console/channels/${channel.id}`);
    const own = page.getByRole("log", { name: "Messages" }).locator(`[data-message-id=${words.id}]`);
    await own.waitFor();
    await (narrow ? own.getByRole("button", { name: "What can be done" }).click() : own.hover());
    await see("tools", page);
    await own.getByRole("button", { name: "React", exact: true }).click();
    await see("signals", page);
    await own.getByRole("button", { name: "React", exact: true }).click();
    await own.getByRole("button", { name: "Edit", exact: true }).click();
    await see("edit", page);
    await own.getByRole("button", { name: "Cancel" }).click();
    await own.getByRole("button", { name: "Delete", exact: true }).click();
    await opened(page, "Delete this message");
    await see("delete", page);
    await closed(page);
    await own.getByRole("button", { name: "Thread", exact: true }).click();
    await page.getByRole("complementary", { name: "Thread" }).getByText("Then the van comes").waitFor();
    await see("thread", page);
  });

  await withPage(address, options, async (page) => {
    await showLost(page, task);
    await signIn(page, address, { key });
    const concerns = page.getByRole("list", { name: "What needs you" });
    await concerns.locator("[data-concern=unreachable]").filter({ hasText: "worker" }).getByRole("button", { name: "How to wake it" }).click();
    await opened(page, "How to wake it");
    await see("wake", page);
    await closed(page);
    await concerns.locator("[data-concern=holder_lost]").getByRole("button", { name: "Reassign" }).click();
    await page.getByLabel("Give it to").waitFor();
    await see("reassign", page);
    await closed(page);

    await page.goto(`${address}/console/channels/${channel.id}`);
    await page.getByRole("button", { name: "Share" }).click();
    await opened(page, "Share this channel");
    await see("share", page);
    await page.getByRole("button", { name: "Make an observer link" }).click();
    const link = await page.getByLabel("The link").inputValue();
    await see("link", page);
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();

    await page.goto(`${address}/console/intents/${intent.id}`);
    for (const act of ["Assign", "Name a coordinator", "Make a channel", "End"]) {
      await page.getByRole("button", { name: act, exact: true }).click();
      await page.getByRole("dialog").waitFor();
      await see(act.toLowerCase().replaceAll(" ", "-"), page);
      await closed(page);
    }

    await page.goto(`${address}/console/keys`);
    await page.getByRole("button", { name: "Create key" }).click();
    await opened(page, "Create key");
    await see("create-key", page);
    await page.getByLabel("Label").fill(`Night shift, ${name}`);
    await page.getByRole("dialog").getByRole("textbox", { name: "Agents" }).fill("worker");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    await page.getByRole("button", { name: "I have kept it" }).waitFor();
    await see("secret", page);
    await page.getByRole("button", { name: "I have kept it" }).click();
    const made = page.locator("[data-key-id]").filter({ hasText: `Night shift, ${name}` });
    for (const act of ["Rotate", "Revoke"]) {
      await made.getByRole("button", { name: act }).click();
      await page.getByRole("dialog").waitFor();
      await see(act.toLowerCase(), page);
      await closed(page);
    }

    await page.goto(`${address}/console/search`);
    await page.getByRole("button", { name: "Intent", exact: true }).click();
    await page.getByLabel("Intent").waitFor();
    await see("filter", page);

    await page.goto(link);
    await page.getByRole("button", { name: "Join" }).waitFor();
    await see("invited", page);
    await page.getByRole("button", { name: "Stay signed in" }).click();
    await live(page);
  });
}
await posts.close();
