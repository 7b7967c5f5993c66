// Deliveries of several subscriptions were given up. Their agent chooses all of them and has them tried again in one action: undone, it never
// happens; after ten seconds it does; and at once if the page is left.
import assert from "node:assert/strict";

import { live, patience, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key } = process.env;
const team = new Team(address, key);
const intent = await team.intent("lead", "Move the archive");
const channel = await team.channel("lead", intent, "boxes");
const subscriptions = [];
for (const name of ["cellar", "attic", "garage"]) {
  subscriptions.push(await team.call("worker", "POST", "subscriptions", { name, channel_id: channel.id, acknowledge_seconds: 1, max_attempts: 1 }));
}
const boxes = 4;
for (let box = 1; box <= boxes; box++) {
  await team.say("lead", channel, `Box ${box} waits.`);
}
await giveUp();

await withPage(address, { viewport: { width: 1280, height: 800 } }, async (page) => {
  const calls = [];
  page.on("request", (request) => request.url().endsWith("/redrive") && calls.push(request.url()));
  await page.clock.install();
  await signIn(page, address, { key, agent: "worker" });
  const list = page.getByRole("list", { name: "What needs you" });
  const concerns = list.locator("[data-concern=dead_letters]");
  const notices = page.getByRole("region", { name: "Notices" });

  await stopClock();
  await decide();
  await page.clock.fastForward(8000);
  await notices.getByRole("button", { name: "Undo" }).click();
  await concerns.nth(2).waitFor();
  await page.clock.fastForward(10_000);
  await notices.getByText("3 redriven").waitFor({ state: "detached" });
  assert.deepEqual([calls.length, await given()], [0, [boxes, boxes, boxes]], "what is undone is not done");

  await decide();
  assert.equal(calls.length, 0, "nothing is done before the ten seconds are over");
  await page.clock.fastForward(11_000);
  await untilRedriven(3);
  await page.getByText("Nothing needs you.").waitFor();

  // To go to another page of the console is to leave this one.
  await giveUpAgain();
  await decide();
  await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Intents" }).click();
  await untilRedriven(6);

  // So is to open another address in its place. Nobody is told of the calls that a page makes in the end.
  await giveUpAgain();
  await decide();
  await page.goto(`${address}/console/agents`);
  await untilRedriven();

  /** stopClock waits until the page shows what was given up. From then on its time passes only by the test's hand. */
  async function stopClock() {
    await concerns.nth(2).waitFor();
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 15_000);
  }

  /** decide chooses all three, and has them redriven. */
  async function decide() {
    for (const concern of await concerns.all()) {
      await concern.getByRole("checkbox", { name: "Choose" }).check();
    }
    const all = page.getByRole("toolbar", { name: "With all that are chosen" });
    await all.getByText("3 chosen").waitFor();
    await all.getByRole("button", { name: "Redrive" }).click();
    await notices.getByText("3 redriven").waitFor();
    await concerns.first().waitFor({ state: "detached" });
  }

  /** untilRedriven waits until everything is due again, by so many calls in all. */
  async function untilRedriven(made = calls.length) {
    for (const until = Date.now() + patience; (await given()).some((count) => count > 0); ) {
      assert.ok(Date.now() < until, "what was decided is done"); // The calls are under way.
    }
    assert.equal(calls.length, made, "one call for each");
  }

  async function giveUpAgain() {
    await giveUp();
    await page.clock.resume();
    await page.goto(`${address}/console`);
    await live(page);
    await stopClock();
  }
});

/** given returns how many deliveries each subscription has given up. */
function given() {
  return Promise.all(subscriptions.map(async ({ id }) => (await team.call("worker", "GET", `subscriptions/${id}`)).dead_letter_count));
}

/** giveUp comes for all deliveries and never says that they are done. */
async function giveUp() {
  while ((await given()).some((count) => count < boxes)) {
    await Promise.all(subscriptions.map(({ id }) => team.call("worker", "GET", `subscriptions/${id}/deliveries?wait_seconds=1`)));
  }
}
