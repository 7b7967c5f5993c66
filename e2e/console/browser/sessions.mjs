// Sessions in a browser. What somebody has begun to write outlives their session; a session that has ended has ended everywhere; and whoever comes by a
// link is asked first, watches one channel, and changes nothing.
import assert from "node:assert/strict";

import { checkAccessibility, live, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key } = process.env;
const team = new Team(address, key);
const wide = { viewport: { width: 1280, height: 800 } };
const intent = await team.intent("lead", "Move the archive");
const channel = await team.channel("lead", intent, "boxes");
await team.say("lead", channel, "Box one is full.");
const place = "openintent-console-secret";
const secretOf = (page) => page.evaluate((place) => localStorage.getItem(place), place);
const field = (page) => page.getByRole("textbox", { name: "Message", exact: true });

await withPage(address, wide, async (page, context) => {
  await signIn(page, address, { key, agent: "anna" });
  await page.goto(`${address}/console/channels/${channel.id}`);
  const before = page.url();
  await field(page).fill("Half a sentence");
  await page.evaluate(
    (place) => fetch("/console/session", { method: "DELETE", headers: { "X-OpenIntent-Console": localStorage.getItem(place) } }),
    place,
  );
  await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
  await checkAccessibility(page, "a session that has ended");
  await signInAgain(page, "anna");
  assert.equal(page.url(), before, "somebody who signs in again is where they were");
  assert.equal(await field(page).inputValue(), "Half a sentence", "what was begun is still there");

  const secret = await secretOf(page);
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  assert.equal(await answered({ cookie, "X-OpenIntent-Console": secret }), 200);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to openintent" }).waitFor();
  assert.equal(await secretOf(page), null, "the browser has the secret no longer");
  assert.equal(await answered({ cookie, "X-OpenIntent-Console": secret }), 401, "the session has ended at the server, too");

  await signInAgain(page, "ben");
  await page.goto(`${address}/console/channels/${channel.id}`);
  await field(page).waitFor();
  assert.equal(await field(page).inputValue(), "", "what somebody else has begun is theirs");
});

await withPage(address, wide, (leads) =>
  withPage(address, wide, async (guests) => {
    await signIn(leads, address, { key, agent: "lead" });
    await leads.goto(`${address}/console/channels/${channel.id}`);
    await leads.getByRole("button", { name: "Share" }).click();
    await leads.getByRole("button", { name: "Make an observer link" }).click();
    const link = await leads.getByLabel("The link").inputValue();
    assert.ok(link.startsWith(`${address}/console#invite=oi_`), link);

    const sent = [];
    guests.on("request", (request) => request.method() !== "GET" && sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await guests.clock.install();
    await guests.goto(link);
    await guests.getByText("invites you to watch this channel").waitFor();
    assert.equal(guests.url(), `${address}/console`, "the address has the invite no longer");
    assert.deepEqual(sent, ["POST /console/invite"], "nobody is signed in by a link alone");
    await checkAccessibility(guests, "an invitation");
    await guests.getByLabel("Your name").fill("Ida");
    await guests.getByRole("button", { name: "Join" }).click();
    await guests.getByRole("heading", { level: 1, name: "boxes" }).waitFor();
    await guests.getByText("You may read here, and not write.").waitFor();
    await live(guests);
    await team.say("lead", channel, "Box two is full.");
    const said = guests.getByRole("log", { name: "Messages" }).getByRole("article").filter({ hasText: "Box two is full." });
    await said.waitFor();
    await said.hover();
    assert.deepEqual(await said.getByRole("button", { name: /^(React|Claim|Edit|Delete|Answer)$/ }).all(), [], "a guest who watches changes nothing");
    assert.equal(await guests.getByRole("button", { name: "Share" }).count(), 0);
    assert.equal(await field(guests).count(), 0);
    await guests.clock.fastForward(5000);
    await guests.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Agents" }).click();
    await guests.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    assert.deepEqual(sent, ["POST /console/invite", "POST /console/session"], "whoever watches marks nothing");

    // Whoever is signed in is asked, too.
    await leads.goto(link);
    await leads.getByText("You are signed in as lead").waitFor();
    await leads.getByRole("button", { name: "Stay signed in" }).click();
    await leads.getByRole("heading", { level: 1, name: "What needs you" }).waitFor();
    assert.equal(await leads.getByRole("region", { name: "Who is signed in" }).getByText("lead", { exact: true }).count(), 1);
  }),
);

async function signInAgain(page, agent) {
  await page.getByLabel("API key").fill(key);
  await page.getByLabel("Act as").fill(agent);
  await page.getByRole("button", { name: "Sign in" }).click();
  await live(page);
}

/** answered says how the server answers a call with a cookie and a secret that somebody has kept. */
async function answered(headers) {
  return (await fetch(`${address}/v1/whoami`, { headers })).status;
}
