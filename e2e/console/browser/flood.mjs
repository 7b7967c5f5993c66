// 500 messages a second arrive in the channel that is open. The page keeps few of them in its document and forgets the old ones, shows the last
// one in the end, and loses no key of somebody who writes meanwhile. How many frames it draws is printed, because that is the machine's.
import assert from "node:assert/strict";

import { live, signIn, withPage } from "./page.mjs";
import { steer } from "./steer.mjs";

const { OPENINTENT_URL: address, PERSONS_KEY: personsKey, CHANNEL: channel } = process.env;
const all = Number(process.env.MESSAGES || 100_000);
/** After how many messages the heap is measured first; the page then has as many as it keeps. */
const first = all / 5;
const portion = Math.min(first, 10_000);

/** The most articles that may stand in the page, and by how much the heap may grow between the two looks at it. */
const mostArticles = 300;
const mostGrowth = 1.2;

/** A page that lags behind may take a while to show what has come. */
const patience = 180_000;

await withPage(address, { viewport: { width: 1280, height: 800 } }, async (page, context) => {
  await signIn(page, address, { key: personsKey });
  await page.goto(`${address}/console/channels/${channel}`);
  await live(page);
  await page.getByRole("log", { name: "Messages" }).getByRole("article").first().waitFor();
  const devtools = await context.newCDPSession(page);
  await watchFrames(page);
  const field = page.getByRole("textbox", { name: "Message", exact: true });
  let early;
  for (let sent = portion; sent <= all; sent += portion) {
    const sending = steer("send", { count: portion });
    const typed = await typeWhile(sending, field);
    const { last, seconds } = await sending;
    const shown = await page.waitForFunction(isShown, last, { timeout: patience, polling: 100 });
    await shown.dispose();
    assert.equal(await field.inputValue(), typed, "no key is lost");
    await field.fill("");
    const { most, frames, took, longest } = await page.evaluate(() => globalThis.frames.read());
    assert.ok(frames > 0 && most > 0 && most <= mostArticles, `at most ${mostArticles} articles stand in the page, and not ${most}`);
    const heap = await heapOf(devtools);
    console.log(
      `${sent} messages: ${Math.round(portion / seconds)} a second, ${typed.length} keys, ${(frames / took).toFixed(1)} frames a second, ` +
        `the longest ${Math.round(longest)} ms, at most ${most} articles, a heap of ${(heap / 1e6).toFixed(1)} MB`,
    );
    if (sent === first) {
      early = heap;
    }
    if (sent === all) {
      assert.ok(heap <= early * mostGrowth, `the heap does not grow with what has come, but was ${early} and is ${heap}`);
    }
  }
});

/** typeWhile types sentences until something has ended, and returns what it has typed. */
async function typeWhile(until, field) {
  let over = false;
  const end = () => (over = true);
  until.then(end, end);
  let typed = "";
  while (!over && typed.length < 1000) {
    const words = `I am still here (${typed.length}). `;
    await field.pressSequentially(words);
    typed += words;
  }
  return typed;
}

/** isShown reports whether a message stands within the room that the page has for messages. */
function isShown(id) {
  const log = document.querySelector('[role="log"]').getBoundingClientRect();
  const message = document.querySelector(`[data-message-id="${id}"]`)?.getBoundingClientRect();
  return message !== undefined && message.top < log.bottom && message.bottom <= log.bottom + 1;
}

/** watchFrames looks at the page with every frame that it draws. */
function watchFrames(page) {
  return page.evaluate(() => {
    let began = performance.now();
    let [most, count, longest, before] = [0, 0, 0, began];
    const look = (now) => {
      longest = Math.max(longest, now - before);
      [count, before] = [count + 1, now];
      most = Math.max(most, document.querySelectorAll("article").length);
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
    globalThis.frames = {
      read() {
        const now = performance.now();
        const found = { most, frames: count, took: (now - began) / 1000, longest };
        [most, count, longest, began] = [0, 0, 0, now];
        return found;
      },
    };
  });
}

/** heapOf measures what the page's scripts keep, once all garbage is collected. */
async function heapOf(devtools) {
  await devtools.send("HeapProfiler.collectGarbage");
  await devtools.send("HeapProfiler.collectGarbage");
  return (await devtools.send("Runtime.getHeapUsage")).usedSize;
}
