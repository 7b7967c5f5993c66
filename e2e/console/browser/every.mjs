// Looks at every page, in both colour schemes, on a wide screen and on a narrow one: axe-core finds nothing, nothing is cut off at the side, and
// the page has one heading.
import assert from "node:assert/strict";

import { live, look, looks, signIn, withPage } from "./page.mjs";
import { lengthOfStory, stage, Team } from "./stage.mjs";
import { steer } from "./steer.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key, PERSONS_KEY: personsKey } = process.env;
const team = new Team(address, key);
// The server's clock is behind, and has caught up when the story is over.
const pass = (seconds) => steer("pass", { seconds });
await pass((await pass(0)) - (await lengthOfStory()));
const made = await stage(team, { person: "anna", pass });
assert.ok(Math.abs(await pass(0)) < 1, "the story ends now");
const asked = (await team.call("anna", "GET", "concerns")).concerns[0];

const pages = {
  needs: "",
  intents: "intents",
  ledger: `channels/${made.ledger.id}`,
  busy: `channels/${made.inbox.id}`,
  review: `channels/${made.review.id}`,
  hostile: `channels/${made.hostile.id}`,
  message: `messages/${asked.message_id}`,
  intent: `intents/${made.books.id}`,
  agents: "agents",
  own: "agents/anna",
  search: "search?q=EUR",
  subscriptions: "subscriptions",
  refused: "channels/chan_01AAAAAAAAAAAAAAAAAAAAAAAA",
  nowhere: "nowhere",
};

/** The most articles that a page has of a channel with hundreds of messages. */
const mostArticles = 80;

/** The operator sees these, too. */
const operatorsPages = { channel: `channels/${made.ledger.id}`, request: `requests/${made.rate.id}`, agent: "agents/ledger-bot", keys: "keys", server: "server" };

for (const { name, options } of looks) {
  for (const [signedIn, some] of [
    [personsKey, pages],
    [key, operatorsPages],
  ]) {
    await withPage(address, options, async (page) => {
      await signIn(page, address, { key: signedIn });
      for (const [which, path] of Object.entries(some)) {
        await page.goto(`${address}/console/${path}`.replace(/\/$/, ""));
        await live(page);
        await settled(page);
        assert.equal(await page.locator("h1").count(), 1, `${which}-${name}`);
        const articles = await page.locator("article").count();
        assert.ok(articles <= mostArticles, `${which}-${name}: a channel has few of its messages in the page, and not ${articles}`);
        await look(page, `${which}-${name}`);
      }
    });
  }
}

/** settled waits until the page has asked for everything that it shows, which is when its skeletons are gone. */
async function settled(page) {
  await page.locator("main h1").waitFor({ state: "attached" });
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
}
