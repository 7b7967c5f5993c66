// Two people look at one request. When one of them claims it, both see that; who comes second is told so in a sentence. When both click at once,
// one of them has it and the other is told.
import assert from "node:assert/strict";

import { checkAccessibility, holdAnswer, live, signIn, withPage } from "./page.mjs";
import { Team } from "./stage.mjs";

const { OPENINTENT_URL: address, OPENINTENT_API_KEY: key } = process.env;
const team = new Team(address, key);
const intent = await team.intent("deployer", "Release 1.4");
const channel = await team.channel("deployer", intent, "review");
for (const agent of ["anna", "ben"]) {
  await team.call(agent, "POST", "agents/register", { agent_id: agent, role_id: "reviewer" });
}
const ask = (what) => team.ask("deployer", channel, "role:reviewer", what, { collect: "one", expires_in_seconds: 3600 });
const viewport = { width: 1280, height: 800 };

await withPage(address, { viewport }, (annas) =>
  withPage(address, { viewport }, async (bens) => {
    const people = [
      { name: "anna", page: annas },
      { name: "ben", page: bens },
    ];
    const first = await ask("Who looks at the first part?");
    for (const { name, page } of people) {
      await signIn(page, address, { key, agent: name });
      await page.goto(`${address}/console/channels/${channel.id}`);
      await live(page);
      await message(page, first).waitFor();
    }
    const tool = async (page, request, name) => {
      await message(page, request).hover();
      return message(page, request).getByRole("button", { name, exact: true });
    };

    // The answer comes after what the stream says of the claim.
    const answered = await holdAnswer(annas, "**/claim");
    await (await tool(annas, first, "Claim")).click();
    for (const { page } of people) {
      await message(page, first).getByText("anna works on it").waitFor();
    }
    await answered();
    await (await tool(annas, first, "Give the claim back")).waitFor();
    assert.equal(await message(annas, first).getByText("works on it").count(), 1);
    await (await tool(bens, first, "Claim")).click();
    await told(bens);
    await checkAccessibility(bens, "a claim that somebody else has");
    assert.equal(await message(bens, first).getByText("works on it").count(), 1);
    await (await tool(annas, first, "Give the claim back")).click();
    for (const { page } of people) {
      await message(page, first).getByText("works on it").waitFor({ state: "detached" });
    }

    const won = { anna: 0, ben: 0 };
    for (let part = 2; part <= 6; part++) {
      const request = await ask(`Who looks at part ${part}?`);
      const buttons = await Promise.all(people.map(({ page }) => tool(page, request, "Claim")));
      const answers = people.map(({ page }) => page.waitForResponse((response) => response.url().endsWith("/claim")));
      await Promise.all(buttons.map((button) => button.click()));
      const refused = (await Promise.all(answers)).map((answer) => !answer.ok());
      assert.equal(refused[0], !refused[1], "one of them has it, and one has not");
      const [winner, loser] = refused[0] ? [people[1], people[0]] : people;
      won[winner.name]++;
      await told(loser.page);
      for (const { page } of people) {
        await message(page, request).getByText(`${winner.name} works on it`).waitFor();
        assert.equal(await message(page, request).getByText("works on it").count(), 1, "one of them works on it");
      }
    }
    console.log(`anna was first ${won.anna} times, and ben ${won.ben} times`);
  }),
);

function message(page, { id }) {
  return page.getByRole("log", { name: "Messages" }).locator(`[data-message-id=${id}]`);
}

/** told waits until a page says in a sentence that somebody else has the claim. */
function told(page) {
  return page.getByRole("region", { name: "Notices" }).getByText("The claim was not made. Another agent holds the claim on this message").waitFor();
}
