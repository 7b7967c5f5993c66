// What agents say is text, whatever they say: markup, control characters, overrides of the direction, halves of signs, heaps of accents, and as
// much JSON as the server takes. It stays inside its article and makes no element, and the page answers while it is there.
import assert from "node:assert/strict";

import { checkAccessibility, live, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key } = process.env;
const team = new Team(address, key);
const intent = await team.intent("trickster", "Break the page");

/** The most that the server takes as a payload, with its metadata. */
const mostBytes = 256 * 1024;

const attack = `<img src=x onerror="globalThis.broken=1"><svg onload="globalThis.broken=1"><b>bold</b><iframe srcdoc="x"></iframe><script>globalThis.broken=1</script>`;
const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d";
const trickster = `<b>${family.repeat(6)}`;
const accents = "Z" + "\u0300\u0301\u0302\u0303\u0489\u032d\u0330".repeat(40);
const payloads = {
  markup: { text: attack },
  "markup in fields": { [attack]: attack, nested: { [attack]: [attack] } },
  links: { text: "javascript:globalThis.broken=1 [x](javascript:globalThis.broken=1) data:text/html,<b>x</b>" },
  "control characters": { text: Array.from({ length: 31 }, (_, code) => String.fromCharCode(code + 1)).join("x") + "\u007f\u0085\u009b31m" },
  directions: { text: "\u202egnp.exe \u202d\u202a\u202b\u2066\u2067\u2068".repeat(20), field: "\u202ereversed" },
  emoji: { text: "\u{1f525}".repeat(300) + family.repeat(60) },
  accents: { text: `${accents} ${accents} ${accents}`, other: accents },
  "one long word": { text: "x".repeat(5000), ["k".repeat(500)]: "v".repeat(5000) },
  "many lines": { text: "\n".repeat(300) + "the end" },
  wide: { text: "\ufdfd".repeat(200) + "\u{12031}".repeat(200) },
  deep: nest(60),
};
const large = {
  "a large list": fill((n) => ({ rows: Array.from({ length: n }, (_, i) => ({ id: i, name: `row ${i}`, amount: i * 1.25, tags: ["a", "<b>b</b>"] })) })),
  "a large text": fill((n) => ({ blob: "0123456789abcdef<i>".repeat(n) })),
  "large overrides": fill((n) => ({ text: "a\u202e".repeat(n) })),
  "large words": fill((n) => ({ text: "many words \u202e and \u0300\u0301 accents\n".repeat(n) })),
};
/** What JSON can say and UTF-8 cannot: halves of signs. The server takes them or says what is wrong with them. */
const halves = String.raw`{"payload":{"text":"half \ud83d and \udd25 of a sign","\ud800":"\udfff"}}`;

for (const width of [1280, 320]) {
  const channel = await team.channel("trickster", intent, `hostile, ${width} wide`);
  await withPage(address, { viewport: { width, height: 900 }, reducedMotion: "reduce" }, async (page) => {
    await signIn(page, address, { key, agent: "anna" });
    await team.say("calm", channel, "Nothing has been said yet.");
    await page.goto(`${address}/console/channels/${channel.id}`);
    await live(page);
    await page.getByRole("log", { name: "Messages" }).getByRole("article").first().waitFor();
    for (const [name, payload] of Object.entries({ ...payloads, ...large })) {
      await page.evaluate(() => document.querySelector('[role="log"]').scrollTo(0, 1e9));
      const calm = await team.say("calm", channel, "Nothing special.");
      const sent = await team.say("", channel, payload, { sender: trickster, subject: `${accents.slice(0, 100)} ${attack}`.slice(0, 200) });
      await look(page, sent, `${name}, ${width} wide`, calm);
    }
    await sendHalves(page, channel);
    assert.equal(await page.evaluate(() => globalThis.broken), undefined, "nothing that was said has run");
    await page.evaluate(() => document.querySelector('[role="log"]').scrollTo(0, 0));
    await checkAccessibility(page, `hostile words, ${width} wide`);
  });
}

/** look looks at a message as it came, and with everything unfolded that it offers to unfold. */
async function look(page, sent, where, calm) {
  const article = page.getByRole("log", { name: "Messages" }).locator(`[data-message-id=${sent.id}]`);
  await article.waitFor();
  await checkBox(article, where);
  if (calm !== undefined) {
    await checkNeighbour(page, article, calm, where);
  }
  const began = performance.now();
  for (const [name, times] of [
    [/^Show (all|more)/, 10],
    [/JSON|^\{/, 1],
    [/^Show (all|more)/, 3],
  ]) {
    const more = article.getByRole("button", { name }).first();
    for (let n = 0; n < times && (await more.count()) > 0 && (await more.getAttribute("aria-expanded")) !== "true"; n++) {
      await more.click();
    }
  }
  await checkBox(article, `${where}, unfolded`);
  // Another button answers, although all of this is in the page.
  const react = article.getByRole("button", { name: "React", exact: true });
  const tools = article.getByRole("button", { name: "What can be done" });
  await ((await tools.isVisible()) ? tools.click() : article.focus());
  const clicked = performance.now();
  await react.click();
  await article.getByRole("button", { name: "agree" }).first().waitFor();
  console.log(`${where}: unfolded and checked in ${Math.round(clicked - began)} ms, another button answered in ${Math.round(performance.now() - clicked)} ms`);
  await react.click();
}

/** checkBox checks that everything of an article that can be seen lies in it, and that no element was made of words. */
async function checkBox(article, where) {
  const { out, made, unseen } = await article.evaluate((article) => {
    const box = article.getBoundingClientRect();
    const log = article.closest('[role="log"]').getBoundingClientRect();
    // What an element may draw on: the boxes around it that cut off what leaves them.
    const everything = { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity };
    const clips = new Map([[article, everything]]);
    const meet = (a, b) => ({
      left: Math.max(a.left, b.left), right: Math.min(a.right, b.right), top: Math.max(a.top, b.top), bottom: Math.min(a.bottom, b.bottom),
    });
    const clipOf = (element) => {
      if (!clips.has(element)) {
        const outer = clipOf(element.parentElement);
        clips.set(element, getComputedStyle(element).overflow === "visible" ? outer : meet(outer, element.getBoundingClientRect()));
      }
      return clips.get(element);
    };
    const shown = (element) => meet(element.getBoundingClientRect(), clipOf(element.parentElement));
    const out = [];
    for (const element of article.querySelectorAll("*")) {
      const { left, right, top, bottom } = shown(element);
      const seen = right > left && bottom > top;
      if (seen && (left < box.left - 1 || right > box.right + 1 || top < box.top - 1 || bottom > box.bottom + 1)) {
        out.push(`${element.outerHTML.slice(0, 100)}: ${[left, right, top, bottom]} is not in ${[box.left, box.right, box.top, box.bottom]}`);
      }
    }
    if (box.left < log.left - 1 || box.right > log.right + 1) {
      out.push("the article is wider than the log");
    }
    const strange = "img, iframe, script, b, i:not(:empty), object, embed, style, link, form:not(:has(textarea)), svg[onload], [onerror], [href^='javascript'], [srcdoc]";
    // eslint-disable-next-line no-control-regex
    const unseen = article.textContent.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/)?.[0].codePointAt(0);
    return { out, unseen, made: [...article.querySelectorAll(strange)].map((element) => element.outerHTML.slice(0, 200)) };
  });
  assert.deepEqual(out, [], `${where}: nothing leaves its box`);
  assert.deepEqual(made, [], `${where}: words are no elements`);
  assert.equal(unseen, undefined, `${where}: no sign is unseen`);
}

/** checkNeighbour checks that the message before looks the same without this one: glyphs can be drawn far outside of their boxes. */
async function checkNeighbour(page, article, calm, where) {
  const clip = await page.locator(`[data-message-id=${calm.id}]`).evaluate((before) => {
    const { x, y, width, height } = before.getBoundingClientRect();
    return y >= before.closest('[role="log"]').getBoundingClientRect().top ? { x, y, width, height } : undefined;
  });
  if (clip === undefined) {
    return; // a long message has pushed it out of view
  }
  await page.mouse.move(1, 1);
  const seen = () => page.screenshot({ clip });
  let [beside, alone, again, aloneAgain] = [];
  do { // until the page has come to rest: what it still moves is no sign of the message
    beside = await seen();
    alone = await hidden(article, seen);
    again = await seen();
    aloneAgain = await hidden(article, seen);
  } while (!beside.equals(again) || !alone.equals(aloneAgain));
  assert.ok(beside.equals(alone), `${where}: nothing is drawn over the message before`);
  console.log(`${where}: the message before looks the same without it`);
}

async function hidden(article, look) {
  await article.evaluate((one) => (one.style.visibility = "hidden"));
  const seen = await look();
  await article.evaluate((one) => (one.style.visibility = ""));
  return seen;
}

async function sendHalves(page, channel) {
  const headers = { "X-API-Key": key, "X-Agent-ID": "trickster" };
  const response = await fetch(`${address}/v1/channels/${channel.id}/messages`, { method: "POST", headers, body: halves });
  const answer = await response.json();
  if (response.status === 400) {
    console.log(`halves of signs are refused: ${answer.detail}`);
    return;
  }
  assert.equal(response.status, 201);
  await look(page, answer, "halves of signs");
}

/** fill makes a payload that is as large as the server takes. */
function fill(make) {
  let [some, many] = [1, mostBytes];
  while (many - some > 1) {
    const middle = Math.floor((some + many) / 2);
    [some, many] = Buffer.byteLength(JSON.stringify(make(middle))) < mostBytes - 2000 ? [middle, many] : [some, middle];
  }
  return make(some);
}

function nest(depth) {
  return depth === 0 ? "bottom" : { level: nest(depth - 1) };
}
