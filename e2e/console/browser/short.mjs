// A person signs in, sees that an agent asks something, follows the channel live, and answers. The agent is the test's; it waits meanwhile.
import assert from "node:assert/strict";

import { checkAccessibility, live, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key, PERSONS_KEY: personsKey, CHANNEL: channel } = process.env;
const team = new Team(address, key);

await withPage(address, { viewport: { width: 1280, height: 800 } }, async (page) => {
  await page.goto(`${address}/`);
  await page.waitForURL(`${address}/console`);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await checkAccessibility(page, "the sign-in form");
  await page.getByLabel("API key").fill("not a key");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();

  await signIn(page, address, { key: personsKey });
  await page.getByRole("heading", { level: 1, name: "What needs you" }).waitFor();
  const question = page.getByRole("list", { name: "What needs you" }).locator("[data-concern=question]");
  await question.getByText("May I deploy?").waitFor();
  await checkAccessibility(page, "what needs you");
  assert.match(await page.title(), /^\(1\) /, "the title says how much needs the reader");

  await question.getByRole("link").first().click();
  const log = page.getByRole("log", { name: "Messages" });
  const asked = log.getByRole("article").filter({ hasText: "May I deploy?" });
  await asked.waitFor();
  await live(page);

  await team.say("deployer", { id: channel }, "All checks are green.");
  await log.getByRole("article").filter({ hasText: "All checks are green." }).waitFor();
  await checkAccessibility(page, "a channel");

  await asked.getByRole("button", { name: "Answer" }).click();
  await page.getByRole("textbox", { name: "Answer" }).fill("Yes, go ahead.");
  await page.getByRole("button", { name: "Send answer" }).click();
  await asked.getByText("answered by").waitFor();

  await page.getByRole("textbox", { name: "Message" }).fill("I watch it from here.");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await log.getByRole("article").filter({ hasText: "I watch it from here." }).waitFor();

  await page.reload();
  await log.getByRole("article").filter({ hasText: "I watch it from here." }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
});
