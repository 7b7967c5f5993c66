// Looks at every page, in both colour schemes, on a wide screen and on a narrow one: axe-core finds nothing, nothing is cut off at the side, and
// the page has one heading. With OPENINTENT_SCREENSHOTS, a folder, it takes a picture of each for those who want to look themselves.
import assert from "node:assert/strict";

import { checkAccessibility, live, signIn, withPage } from "./page.mjs";
import { stage, Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key, PERSONS_KEY: personsKey, OPENINTENT_SCREENSHOTS: pictures } = process.env;
const team = new Team(address, key);
const made = await stage(team, { person: "anna" });
const asked = (await team.call("anna", "GET", "concerns")).concerns[0];

const pages = {
  needs: "",
  intents: "intents",
  channel: `channels/${made.ledger.id}`,
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

/** The operator sees these, too. */
const operatorsPages = { request: `requests/${made.rate.id}`, agent: "agents/ledger-bot", keys: "keys", server: "server" };

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1440, 320]) {
    await withPage(address, { viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce" }, async (page) => {
      await signIn(page, address, { key: personsKey });
      await look(page, pages);
    });
    await withPage(address, { viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce" }, async (page) => {
      await signIn(page, address, { key });
      await look(page, operatorsPages);
    });

    async function look(page, pages) {
      for (const [name, path] of Object.entries(pages)) {
        const where = `${name}, ${colorScheme}, ${width} wide`;
        await page.goto(`${address}/console/${path}`.replace(/\/$/, ""));
        await live(page);
        await settled(page);
        assert.equal(await page.locator("h1").count(), 1, where);
        const [content, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(content <= room, `${where}: nothing is cut off at the side, but ${content} is wider than ${room}`);
        if (pictures) {
          await page.screenshot({ path: `${pictures}/${name}-${colorScheme}-${width}.png` });
        }
        await checkAccessibility(page, where);
      }
    }
  }
}

/** settled waits until the page has asked for everything that it shows, which is when its skeletons are gone. */
async function settled(page) {
  await page.locator("main h1").waitFor({ state: "attached" });
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
}
