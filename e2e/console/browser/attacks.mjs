// Somebody is signed in at the console, and opens a page of somebody else in the same browser: at another port of this host, where the browser
// shows the same cookies; at this machine under another name; and in a frame that has no origin. The page tries what browsers allow.
//
// It must change nothing on the server, not end the session, and learn nothing: it must see the same in a browser in which nobody is signed in.
// The last line that the script prints begins with FOUND and has what is wrong, as a list in JSON.
import assert from "node:assert/strict";
import { createServer } from "node:http";

import { attempts, callsOn, workerSource } from "./attempts.mjs";
import { chromium, patience, signIn } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: direct, CONSOLE_URL: target, OPENINTENT_API_KEY: key, PERSONS_KEY: personsKey, PERSON: person, CHANNEL: channel } = process.env;
const team = new Team(direct, key);
const secretPlace = "openintent-console-secret";
/** What has the form of a page's secret, and is nobody's. */
const forged = `ocs_${"A".repeat(43)}`;
const cookieName = `openintent_session_${new URL(target).port}`;
const [{ id: message }] = await team.call("", "GET", `channels/${channel}/messages`);
const given = { target, channel, message, person, calls: callsOn({ channel, message, person, key }) };

/** state is everything on the server that a forged call might change, as the operator and the person see it. */
async function state() {
  const read = (path) => team.call("", "GET", path);
  const { intents } = await read("intents?limit=1000");
  const channels = (await Promise.all(intents.map(({ id }) => read(`intents/${id}/channels`)))).flat();
  const rooms = channels.map(({ id }) => Promise.all([read(`channels/${id}/messages`), read(`channels/${id}/invites`), read(`channels/${id}/messages/${message}/reactions`).catch(() => 0)]));
  const all = [intents, channels, await Promise.all(rooms), await read("keys"), await read("subscriptions"), await read(`agents/${person}/inbox`), await read("agents?limit=1000")];
  return JSON.stringify(all, (name, value) => (name === "last_used_at" ? undefined : value));
}

// The other origin: one server under two names, which notes what cookies browsers show it.
const shown = [];
const other = createServer((request, answer) => {
  shown.push({ host: request.headers.host, cookie: request.headers.cookie ?? "" });
  const script = request.url === "/worker.js";
  answer.setHeader("Content-Type", script ? "text/javascript" : "text/html");
  if (request.url === "/toss") {
    answer.setHeader("Set-Cookie", [`${cookieName}=tossed; Path=/v1`, `${cookieName}=tossed; Path=/console/session`]);
  }
  answer.end(script ? workerSource : "<!doctype html><title>Another page</title>");
});
await new Promise((done) => other.listen(0, "127.0.0.1", done));
const { port } = other.address();
const neighbour = `http://127.0.0.1:${port}`;
const places = [
  { name: "another port", address: neighbour },
  { name: "another name", address: `http://localhost:${port}` },
  { name: "no origin", address: neighbour, sandboxed: true },
];

const found = new Set();
const browser = await chromium.launch({ executablePath: process.env.OPENINTENT_TEST_CHROMIUM, args: ["--no-sandbox"] });
try {
  const seen = [];
  for (const signedIn of [true, false]) {
    seen.push(await visit(signedIn));
  }
  for (const [attempt, learnt] of Object.entries(seen[0])) {
    if (JSON.stringify(learnt) !== JSON.stringify(seen[1][attempt])) {
      found.add(`${attempt}: the page sees whether somebody is signed in`);
      console.log(`${attempt}:\n  ${JSON.stringify(learnt)}\n  ${JSON.stringify(seen[1][attempt])}`);
    }
  }
  await stolen();
} finally {
  await browser.close();
  other.close();
}
console.log(`FOUND ${JSON.stringify([...found])}`);

/** visit lets the page try everything in a new browser, and returns what it has seen. */
async function visit(signedIn) {
  const context = await browser.newContext();
  context.setDefaultTimeout(patience);
  const reader = await context.newPage();
  if (signedIn) {
    await signIn(reader, target, { key: personsKey });
  }
  const pending = watchRequests(context, reader);
  const check = async (what, attempt) => {
    const before = await state();
    const learnt = await attempt();
    await pending.none();
    if ((await state()) !== before) {
      found.add(`${what}: it has changed something`);
    }
    if (signedIn && (await whoIs(reader)) !== person) {
      found.add(`${what}: it has ended the session`);
    }
    return learnt;
  };
  const seen = {};
  for (const place of places) {
    const page = await context.newPage();
    await page.goto(place.address);
    const frame = place.sandboxed ? await withoutOrigin(page) : page.mainFrame();
    for (const [name, attempt] of Object.entries(attempts)) {
      if (name === "ending") {
        continue;
      }
      const what = `${place.name}, ${name}`;
      seen[what] = await check(what, () => frame.evaluate(attempt, given));
      judge(what, name, seen[what]);
    }
    seen[`${place.name}, frames`] = await check(`${place.name}, frames`, () => frames(frame, place));
    if (!place.sandboxed) {
      seen[`${place.name}, windows`] = await check(`${place.name}, windows`, () => windows(context, frame));
    }
    if (place.address === neighbour && !place.sandboxed) {
      await check(`${place.name}, cookies`, () => page.goto(`${neighbour}/toss`));
    }
    await page.close();
  }
  const page = await context.newPage();
  await page.goto(neighbour);
  await check("another port, ending", () => page.evaluate(attempts.ending, given));
  await context.close();
  return seen;
}

/** judge looks at what no page of another origin may see, whoever is signed in. */
function judge(what, name, learnt) {
  const readable = (name === "fetches" || name === "worker") && learnt.some((one) => Array.isArray(one) && one[4] === "cors");
  if (readable || (name === "forms" && learnt.some(([, , , text]) => text.includes("{")))) {
    found.add(`${what}: the page reads an answer`);
  }
  if ((name === "streams" || name === "sockets") && learnt.some((one) => one !== "error")) {
    found.add(`${what}: it has opened`);
  }
  if (name === "worker" && learnt.includes("registered")) {
    found.add(`${what}: it stands before the console`);
  }
  if (name === "subresources" && learnt.some((one) => !Array.isArray(one) || (one[1] === "script" && one[2] !== "error"))) {
    found.add(`${what}: an answer runs as a script`);
  }
}

/** frames shows pages of the console in frames, and speaks to them. */
async function frames(frame, { name }) {
  const learnt = [];
  for (const path of ["/console", `/console/channels/${channel}`, "/console/keys", "/console/session", "/v1/whoami"]) {
    learnt.push(
      await frame.evaluate(async (address) => {
        const shown = document.createElement("iframe");
        const loaded = new Promise((done) => shown.addEventListener("load", done));
        shown.src = address;
        document.body.append(shown);
        await loaded;
        for (const words of ["secret", { type: "secret" }, { "openintent-console-secret": "x" }]) {
          shown.contentWindow.postMessage(words, "*");
        }
        let text;
        try {
          text = shown.contentDocument?.body?.innerText ?? "nothing";
        } catch (refused) {
          text = refused.name;
        }
        return [text, shown.contentWindow.length];
      }, target + path),
    );
    const inner = frame.childFrames().at(-1);
    // What browsers and the server show in place of a page has none of its scripts.
    if (await inner.evaluate(() => document.querySelector('script[type="module"]') !== null)) {
      found.add(`${name}, frames: the console is in a frame`);
    }
  }
  return learnt;
}

/** windows opens pages of the console in windows, and speaks to them. */
async function windows(context, frame) {
  const learnt = [];
  for (const path of ["/console", `/console/channels/${channel}`, `/console#code=${forged}`, "/console#invite=oi_forged", "/console/sign-in", "/console/session", "/v1/whoami"]) {
    const [opened] = await Promise.all([
      context.waitForEvent("page"),
      frame.evaluate((address) => {
        globalThis.opened = window.open(address);
      }, target + path),
    ]);
    await opened.waitForLoadState("load");
    if (path.startsWith("/console") && !["/console/sign-in", "/console/session"].includes(path)) {
      await opened.locator("h1, button").first().waitFor();
    }
    learnt.push(
      await frame.evaluate(() => {
        const window_ = globalThis.opened;
        const tried = (look) => {
          try {
            return String(look());
          } catch (refused) {
            return refused.name;
          }
        };
        for (const words of ["secret", { type: "secret" }]) {
          tried(() => window_.postMessage(words, "*"));
        }
        return [() => window_.closed, () => window_.length, () => window_.document.title, () => window_.location.href, () => window_.localStorage.length].map(tried);
      }),
    );
    await opened.close();
  }
  return learnt;
}

/** stolen uses the cookie that the other port was shown, outside of any browser: it does nothing. */
async function stolen() {
  const cookies = new Set(shown.filter(({ cookie }) => cookie.includes(cookieName)).map(({ cookie }) => cookie));
  assert(cookies.size > 0, "cookies know no ports, so the other port is shown the session's");
  assert(shown.every(({ host, cookie }) => !host.startsWith("localhost") || !cookie.includes(cookieName)), "another name is shown none");
  const before = await state();
  for (const cookie of cookies) {
    for (const [method, path, body] of given.calls) {
      for (const headers of [{ cookie }, { cookie, "X-OpenIntent-Console": "sign-in", Origin: neighbour }, { cookie, "X-OpenIntent-Console": forged, Origin: target }]) {
        const answer = await fetch(target + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
        if (answer.status < 400 && path !== "/console/ways") {
          found.add(`a stolen cookie: ${method} ${path} is answered`);
        }
      }
    }
  }
  if ((await state()) !== before) {
    found.add("a stolen cookie: it has changed something");
  }
}

/** withoutOrigin makes a frame that has scripts and no origin. */
async function withoutOrigin(page) {
  const made = page.waitForEvent("frameattached");
  await page.evaluate(() => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-forms allow-popups";
    frame.srcdoc = "<!doctype html><title>No origin</title>";
    document.body.append(frame);
  });
  const frame = await made;
  await frame.waitForFunction(() => document.title === "No origin" && globalThis.origin === "null");
  return frame;
}

/** whoIs asks who is signed in, as the console's own page does. */
async function whoIs(reader) {
  return reader.evaluate(async (place) => {
    const answer = await fetch("/console/session", { headers: { "X-OpenIntent-Console": localStorage.getItem(place) ?? "none" } });
    return (await answer.json()).agent_id;
  }, secretPlace);
}

/** watchRequests knows which requests of pages other than the reader's are under way. Those of workers and windows count as well. */
function watchRequests(context, reader) {
  const under = new Set();
  const isReaders = (request) => {
    try {
      return request.frame().page() === reader;
    } catch {
      return false; // a worker's
    }
  };
  context.on("request", (request) => !isReaders(request) && under.add(request));
  for (const end of ["requestfinished", "requestfailed"]) {
    context.on(end, (request) => under.delete(request));
  }
  context.on("page", (page) => page.on("close", () => [...under].forEach((request) => isOf(request, page) && under.delete(request))));
  return {
    async none() {
      for (const until = Date.now() + patience; under.size > 0; ) {
        assert(Date.now() < until, `these requests never ended: ${[...under].map((request) => request.url())}`);
        await new Promise((done) => setTimeout(done, 20));
      }
    },
  };
}

function isOf(request, page) {
  try {
    return request.frame().page() === page;
  } catch {
    return false;
  }
}
