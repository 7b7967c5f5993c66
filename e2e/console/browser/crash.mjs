// The server is killed and started again, three times, while an agent sends and a person writes. The page says since when it has no answer, goes
// on by itself, and has every message once.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

import { live, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";
import { steer } from "./steer.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key, PERSONS_KEY: personsKey } = process.env;
const team = new Team(address, key);
const intent = await team.intent("counter", "Count through a crash");
const channel = await team.channel("counter", intent, "numbers");
await team.say("counter", channel, "number 0");

await withPage(address, { viewport: { width: 1280, height: 800 } }, async (page) => {
  await signIn(page, address, { key: personsKey });
  await page.goto(`${address}/console/channels/${channel.id}`);
  await live(page);
  const log = page.getByRole("log", { name: "Messages" });
  const field = page.getByRole("textbox", { name: "Message", exact: true });
  const send = page.getByRole("button", { name: "Send", exact: true });
  const status = (words) => page.getByRole("status").filter({ hasText: words }).waitFor();
  await shows(page, 0);

  const counting = count();
  for (const round of [1, 2, 3]) {
    await shows(page, counting.sent + 3);
    const words = `This is round ${round}.`;
    await field.fill(words);
    if (round === 2) {
      // Nobody knows what becomes of this one until it is sent once more.
      await Promise.all([send.click(), steer("kill")]);
    } else {
      await steer("kill");
      await status(/^Reconnecting/);
      await send.click();
      await page.getByRole("alert").filter({ hasText: "The server does not answer." }).waitFor();
    }
    await status(/^Reconnecting since \d/);
    if (round === 3) {
      await checkNarrow(page);
    }
    await page.getByRole("region", { name: "Notices" }).getByText("The server has not answered since").waitFor();
    await steer("start");
    await live(page);
    if ((await field.inputValue()) !== "") {
      await send.click();
    }
    await page.waitForFunction((field) => field.value === "", await field.elementHandle());
  }
  const last = await counting.end();
  await log.locator(`[data-message-id=${last.id}]`).waitFor();
  const stored = await team.call("counter", "GET", `channels/${channel.id}/messages?limit=1000`);
  assert.deepEqual(await readThrough(log), stored.map(({ id }) => id), "the page has what is stored, in its order, and each message once");
  const said = stored.map(({ payload }) => payload.text).sort();
  const meant = [...Array(counting.sent + 1).keys()].map((n) => `number ${n}`).concat([1, 2, 3].map((round) => `This is round ${round}.`)).sort();
  assert.deepEqual(said, meant, "everything that was sent is stored once");
  console.log(`${stored.length} messages, each of them once, after three crashes`);
});

/** checkNarrow checks that a telephone has room for the line that says since when. */
async function checkNarrow(page) {
  await page.setViewportSize({ width: 320, height: 800 });
  const [content, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= room, `nothing is cut off at the side, but ${content} is wider than ${room}`);
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** shows waits until a page shows a number, or a greater one. */
function shows(page, number) {
  const shown = (least) => [...document.querySelectorAll("article")].some(({ textContent }) => Number(/number (\d+)/.exec(textContent)?.[1]) >= least);
  return page.waitForFunction(shown, number);
}

/** count sends one number after the other, each until it is stored. */
function count() {
  const counting = { sent: 0, end: undefined };
  let over = false;
  const run = (async () => {
    for (let last; ; ) {
      if (over) {
        return last;
      }
      last = await untilStored(counting.sent + 1);
      counting.sent++;
      await pause(100);
    }
  })();
  counting.end = () => ((over = true), run);
  return counting;
}

async function untilStored(number) {
  for (;;) {
    try {
      const headers = { "X-API-Key": key, "X-Agent-ID": "counter", "Idempotency-Key": `number-${number}` };
      const body = JSON.stringify({ payload: { text: `number ${number}` } });
      const response = await fetch(`${address}/v1/channels/${channel.id}/messages`, { method: "POST", headers, body });
      if (response.ok) {
        return await response.json();
      }
    } catch {
      // The server is away, so nobody knows whether the message is stored.
    }
    await pause(50);
  }
}

/** readThrough scrolls through a log from its beginning to its end, and returns the ids of its messages by their places. */
async function readThrough(log) {
  const ids = await log.evaluate(async (log) => {
    const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const found = [];
    for (log.scrollTop = 0; ; log.scrollTop += log.clientHeight / 2) {
      await drawn();
      for (const item of log.querySelectorAll("[data-index]")) {
        found[Number(item.dataset.index)] = item.querySelector("article").dataset.messageId;
      }
      if (log.scrollTop + log.clientHeight >= log.scrollHeight - 1) {
        return found;
      }
    }
  });
  return [...ids]; // a place that was never shown is a hole
}
