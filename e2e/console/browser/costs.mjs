// Measures what consoles cost the server in a minute: none, ten that rest in view, ten tabs that nobody sees, and one that follows 500 messages a
// second beside the same messages without it.
import { setTimeout as pause } from "node:timers/promises";

import { live, signIn, withPage } from "./page.mjs";
import { steer } from "./steer.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key, CHANNEL: channel } = process.env;
const minute = 60_000;
const viewport = { width: 1280, height: 800 };

await measure("no console", () => pause(minute));

await withTen(async () => {
  await measure("ten consoles in view", () => pause(minute));
});

await withPage(address, { viewport }, async (page, context) => {
  await context.addInitScript(() => Object.defineProperty(document, "visibilityState", { get: () => (globalThis.hidden ? "hidden" : "visible") }));
  await signIn(page, address, { key, agent: "anna" });
  for (let tab = 0; tab < 10; tab++) {
    const opened = tab === 0 ? page : await context.newPage();
    await opened.goto(`${address}/console`);
    await live(opened);
    await opened.evaluate(() => {
      globalThis.hidden = true;
      document.dispatchEvent(new Event("visibilitychange"));
    });
  }
  await pause(minute / 2); // until they have given up their streams
  await measure("ten hidden tabs", () => pause(minute));
});

const flood = async () => void (await steer("send", { count: 30_000 }));
await measure("30,000 messages, no console", flood);
await withPage(address, { viewport }, async (page) => {
  await signIn(page, address, { key, agent: "anna" });
  await page.goto(`${address}/console/channels/${channel}`);
  await page.getByRole("log", { name: "Messages" }).getByRole("article").first().waitFor();
  await live(page);
  await measure("30,000 messages, one console that follows them", flood);
});

/** withTen opens ten consoles of people who each have a browser of their own. */
async function withTen(use) {
  await withPage(address, { viewport }, async (page, context) => {
    const contexts = [];
    for (let person = 0; person < 10; person++) {
      const own = person === 0 ? context : await context.browser().newContext({ viewport });
      const opened = person === 0 ? page : await own.newPage();
      await signIn(opened, address, { key, agent: `person-${person}` });
      contexts.push(own);
    }
    await use();
    await Promise.all(contexts.slice(1).map((own) => own.close()));
  });
}

/** measure prints what something takes of the server's processor time in a minute, and what memory the server has then. */
async function measure(what, happens) {
  const [began, before] = [Date.now(), await figures()];
  await happens();
  const [minutes, after] = [(Date.now() - began) / minute, await figures()];
  const cpu = ((after.process_cpu_seconds_total - before.process_cpu_seconds_total) / minutes).toFixed(2);
  const memory = (after.process_resident_memory_bytes / 2 ** 20).toFixed(0);
  console.log(`${what}: ${cpu} s of processor time a minute, ${memory} MiB of memory, over ${(60 * minutes).toFixed(0)} s`);
}

async function figures() {
  const text = await (await fetch(`${address}/metrics`, { headers: { "X-API-Key": key } })).text();
  return Object.fromEntries(text.split("\n").filter((line) => /^process_/.test(line)).map((line) => line.split(" ")).map(([name, value]) => [name, Number(value)]));
}
