// Fills a server with what a team of agents and people might leave behind, so that the pages have something to show: questions that wait, an
// answer that came late, a person who is asked, a claim, an edit, an expired request, and words that somebody wrote to break a page.
//
//   node stage.mjs http://127.0.0.1:8000 dev-key-001
import { pathToFileURL } from "node:url";

/** Team calls a server's API in the name of agents. */
export class Team {
  constructor(address, key) {
    this.address = address;
    this.key = key;
  }

  /** call makes one call as an agent and returns the answer's body. As nobody, it is the operator's. */
  async call(agent, method, path, body) {
    const headers = { "X-API-Key": this.key, ...(agent && { "X-Agent-ID": agent }) };
    const response = await fetch(`${this.address}/v1/${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (!response.ok) {
      throw new Error(`${method} ${path} as ${agent}: ${response.status} ${text}`);
    }
    return text === "" ? undefined : JSON.parse(text);
  }

  intent(agent, title, more = {}) {
    return this.call(agent, "POST", "intents", { title, ...more });
  }

  channel(agent, intent, name, more = {}) {
    return this.call(agent, "POST", `intents/${intent.id}/channels`, { name, ...more });
  }

  /** say sends a text, or a whole payload. */
  say(agent, channel, said, more = {}) {
    const payload = typeof said === "string" ? { text: said } : said;
    return this.call(agent, "POST", `channels/${channel.id}/messages`, { payload, ...more });
  }

  ask(agent, channel, to, said, more = {}) {
    return this.say(agent, channel, said, { to, message_type: "request", ...more });
  }

  reply(agent, request, said, more = {}) {
    const payload = typeof said === "string" ? { text: said } : said;
    return this.call(agent, "POST", `channels/${request.channel_id}/messages/${request.id}/reply`, { payload, ...more });
  }

  react(agent, message, signal, body = {}) {
    return this.call(agent, "PUT", `channels/${message.channel_id}/messages/${message.id}/reactions/${signal}`, body);
  }

  claim(agent, message, seconds = 600) {
    return this.call(agent, "POST", `channels/${message.channel_id}/messages/${message.id}/claim`, { ttl_seconds: seconds });
  }

  edit(agent, message, said) {
    return this.call(agent, "PATCH", `channels/${message.channel_id}/messages/${message.id}`, { payload: { text: said } });
  }

  delete(agent, message) {
    return this.call(agent, "DELETE", `channels/${message.channel_id}/messages/${message.id}`);
  }
}

/** The agents of the story, and their roles. */
const roles = {
  planner: "planner",
  "ledger-bot": "bookkeeper",
  "invoice-reader": "reader",
  "fx-checker": "checker",
  "reviewer-anna": "reviewer",
  "reviewer-bo": "reviewer",
};

/** lengthOfStory is how many seconds pass in the story. */
export async function lengthOfStory() {
  let seconds = 0;
  const nobody = new Proxy({}, { get: () => async () => ({}) });
  await stage(nobody, { pass: async (more) => void (seconds += more) });
  return seconds;
}

/**
 * stage plays the story. `person` is the name of the person who will look, and `pass` lets so many seconds pass where the server's clock can
 * be moved.
 */
export async function stage(team, { person = "you", pass = async () => {} } = {}) {
  const busy = await playBusy(team, pass);
  const books = await team.intent("planner", "Close the books for March", { description: "Every account agrees, and somebody has signed for it.", status: "active" });
  for (const [agent, role] of Object.entries(roles)) {
    await team.call(agent, "POST", "agents/register", { agent_id: agent, role_id: role });
  }
  /** rest lets a long time pass, after which the agents say that they are still there. */
  const rest = async (seconds) => {
    await pass(seconds);
    for (const agent of Object.keys(roles)) {
      await team.call(agent, "POST", `agents/${agent}/heartbeat`, {});
    }
  };
  await team.call("planner", "POST", `intents/${books.id}/agents`, { agent_id: person, role: "sponsor" });
  await playWork(team, books);
  const ledger = await team.channel("planner", books, "reconciliation");
  const oddities = await team.channel("planner", books, "oddities");
  const review = await team.channel("planner", books, "review");
  await team.call("ledger-bot", "POST", "subscriptions", { name: "corrections", channel_id: review.id });

  const plan = await team.say("planner", ledger, {
    text: "The plan for today:\n\n1. Read the invoices of March (412 of them)\n2. Match them with the ledger\n3. Ask about whatever does not match\n\nThe figures come from `s3://finance/2026-03/`. Nobody books anything before the reviewer has agreed.",
  });
  await pass(40);
  await team.say("planner", ledger, { scope: { from: "2026-03-01", to: "2026-03-31" }, currencies: ["EUR", "USD", "CHF"], tolerance: 0.005 }, { kind: "spec", document: true, message_type: "notify" });
  await pass(90);
  await team.react("ledger-bot", plan, "agree");
  await team.react("invoice-reader", plan, "working", { eta: "noon" });
  const first = await team.ask("planner", ledger, "invoice-reader", "Which invoices have no purchase order?", { expires_in_seconds: 3600 });
  await pass(14);
  await team.reply("invoice-reader", first, {
    text: "Eleven of them. Nine are from Halden Office, which never sends one.",
    invoices: Array.from({ length: 11 }, (_, i) => ({ number: `2026-03-${String(i * 37 + 101)}`, amount: Math.round(1200 * (i + 1) * 7.31) / 100, supplier: i < 9 ? "Halden Office" : "Norrland Kraft" })),
  });
  await rest(3600 * 5);
  const rate = await team.ask("ledger-bot", ledger, "fx-checker", "Is 0.9412 the right rate for the 31st?", { expires_in_seconds: 900 });
  await pass(2);
  await team.call("fx-checker", "GET", "agents/fx-checker/inbox");
  await pass(3);
  await team.claim("fx-checker", rate, 60);
  await pass(31);
  await team.reply("fx-checker", rate, { text: "No: the ECB has 0.9407 for the 31st.", rate: 0.9407, source: "ECB, 2026-03-31" });
  await team.say("ledger-bot", ledger, "Thanks, booked again with 0.9407.");
  await team.say("ledger-bot", ledger, "Three lines changed by less than a cent.");
  const typo = await team.say("ledger-bot", ledger, "The sum of the difference is 14.20 EUR.");
  await pass(20);
  await team.edit("ledger-bot", typo, "The sum of the differences is 41.20 EUR.");
  await rest(3600 * 19);

  await team.say("planner", ledger, "Day two. 380 of 412 invoices agree.", { kind: "progress" });
  const lost = await team.ask("planner", ledger, "archive-bot", "Where are the bank statements of the second week?", { expires_in_seconds: 120 });
  await pass(400);
  await team.say("planner", ledger, "archive-bot did not answer; I take the copies from the bank.", { parent_id: lost.id });
  const wrong = await team.say("invoice-reader", ledger, "All 32 are duplicates, delete them.");
  await pass(5);
  await team.delete("invoice-reader", wrong);
  await team.say("invoice-reader", ledger, "That was wrong. Please ignore it: 30 are duplicates, two are real.");
  await rest(2400);
  const odd = await team.say("fx-checker", oddities, {
    text: "Two invoices of Norrland Kraft were paid twice.",
    pairs: [["2026-03-434", "2026-03-435"], ["2026-03-471", "2026-03-480"]],
    sum: 18422.5,
  }, { priority: "high", subject: "Paid twice" });
  await pass(60);
  await team.say("ledger-bot", oddities, "I see the same. Both came by the second file of the 17th.", { parent_id: odd.id });
  await pass(45);
  await team.say("planner", oddities, "Who tells the bank?", { parent_id: odd.id });
  await team.react("reviewer-anna", odd, "blocked", { note: "needs a person" });
  await rest(3600 * 20);
  await team.call("ledger-bot", "POST", "agents/ledger-bot/heartbeat", { status_note: "waits for the signature" });
  await team.call("ledger-bot", "POST", `intents/${books.id}/leases`, { scope: "ledger/2026-03", duration_seconds: 3600 });

  const open = await team.ask("planner", review, "role:reviewer", { text: "Please look at the corrections of the 31st. One answer is enough.", diff: ["-0.9412 ", "+0.9407"] }, { collect: "one", subject: "Corrections of the 31st", expires_in_seconds: 5400 });
  await pass(30);
  await team.claim("reviewer-anna", open, 900);
  await team.react("reviewer-bo", open, "seen");
  await pass(120);

  await team.ask("planner", review, person, {
    text: "May I write off 41.20 EUR as rounding?\n\nThe differences are below the tolerance in every single line, but their sum is not. The last three months had 12.10, 9.80 and 15.00 EUR.",
    amount: 41.2, currency: "EUR", account: "6590",
  }, { subject: "Write off the rounding", priority: "high", expires_in_seconds: 4 * 3600 });
  await pass(200);
  await team.ask("fx-checker", oddities, person, "Who at the bank should be told of the double payments?", { expires_in_seconds: 3600 });
  await pass(50);
  await team.ask("ledger-bot", review, person, { question: "Do you sign for March?", balance: { debit: 1204311.07, credit: 1204311.07 } }, { obligation: { blocks: "halted" } });
  await team.say("planner", review, `@${person} the report is there as soon as you have answered.`);
  await pass(30);
  await team.ask("reviewer-bo", review, "ledger-bot", "Which account takes the difference?", { obligation: { blocks: "degraded" } });
  await pass(60);
  await team.ask("planner", ledger, "archive-bot", "Please keep this month's files.", {});
  await team.say("planner", ledger, "Only the signature is missing.", { kind: "progress" });

  const hostile = await playHostile(team);
  return { books, ledger, oddities, review, hostile, rate, ...busy };
}

/** playWork gives those who work on an intent their parts and their tasks, and the intent its state. */
async function playWork(team, intent) {
  for (const [agent, role] of [
    ["ledger-bot", "books"],
    ["fx-checker", "checks rates"],
    ["reviewer-anna", "reviews"],
  ]) {
    await team.call("planner", "POST", `intents/${intent.id}/agents`, { agent_id: agent, role });
  }
  const read = await team.call("planner", "POST", `intents/${intent.id}/tasks`, { name: "Read the invoices" });
  await team.call("invoice-reader", "POST", `tasks/${read.id}/claim`, {});
  await team.call("invoice-reader", "POST", `tasks/${read.id}/complete`, {});
  const match = await team.call("planner", "POST", `intents/${intent.id}/tasks`, { name: "Match them with the ledger" });
  await team.call("ledger-bot", "POST", `tasks/${match.id}/claim`, {});
  await team.call("planner", "POST", `intents/${intent.id}/tasks`, { name: "Sign for March", depends_on: [match.id] });
  const { version } = await team.call("planner", "GET", `intents/${intent.id}`);
  const patches = [
    { op: "set", path: "invoices", value: 412 },
    { op: "set", path: "matched", value: 380 },
    { op: "set", path: "signed", value: false },
  ];
  await team.call("planner", "POST", `intents/${intent.id}/state`, { patches, expected_version: version });
}

/** playHostile says what breaks pages that take words for markup, in an intent of its own. */
async function playHostile(team) {
  const intent = await team.intent("trickster", "Words that try to break the page");
  const channel = await team.channel("trickster", intent, "hostile");
  const long = "x".repeat(400);
  for (const text of [
    `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script><b>not bold</b>`,
    "javascript:alert(1) [a link](javascript:alert(1)) <a href='javascript:alert(1)'>here</a>",
    "evil\u202egnp.exe and \u2066isolated\u2069, zero\u200bwidth, bell\u0007, escape \u001b[31mred\u001b[0m",
    "Z\u0351\u036f\u0321\u0358a\u0334\u0321l\u0334\u0361g\u0335\u0321o\u0334 " + "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030f".repeat(6),
    "\u{1f525}",
    "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466} \u{1f1f8}\u{1f1ea} שלום עולם mixed with مرحبا and English",
    long,
    Array.from({ length: 80 }, (_, i) => `line ${i + 1}`).join("\n"),
    "{{constructor.constructor('return 1')()}} ${7*7} <%= 7*7 %>",
  ]) {
    await team.say("<b>bold-agent", channel, text);
  }
  await team.say("trickster", channel, { [`<i>${"key".repeat(30)}</i>`]: "<u>value</u>", deep: nest(40), empty: {}, none: null, list: [] }, { subject: "<h1>A subject</h1> \u202e reversed" });
  await team.say("trickster", channel, { text: "A large payload.", rows: Array.from({ length: 3000 }, (_, i) => ({ id: i, name: `row ${i}`, amount: i * 1.25, tags: ["a", "b"] })) });
  await team.say("trickster", channel, { blob: "0123456789abcdef".repeat(12000) });
  return channel;
}

function nest(depth) {
  return depth === 0 ? "bottom" : { level: nest(depth - 1) };
}

/** playBusy makes other intents, among them one in which much is said. */
async function playBusy(team, pass) {
  const tickets = await team.intent("triage", "Nightly triage of support tickets");
  const inbox = await team.channel("triage", tickets, "inbox", { options: { max_messages: 5000 } });
  const agents = ["triage", "classifier", "summarizer", "router"];
  for (let i = 0; i < 400; i++) {
    const agent = agents[i % 4];
    await team.say(agent, inbox, i % 4 === 1 ? { ticket: 9000 + i, label: ["billing", "login", "bug"][i % 3], confidence: ((i * 37) % 100) / 100 } : `Ticket ${9000 + i}: ${["looked at", "classified", "summed up in two lines", "given to the team for payments"][i % 4]}.`);
    await pass(7 + (i % 11) * 3);
  }
  const checkout = await team.intent("release-lead", "Move the checkout to the new payment API");
  for (const name of ["build", "review", "incidents"]) {
    await team.say("release-lead", await team.channel("release-lead", checkout, name), `This is where we talk about ${name}.`);
  }
  const old = await team.intent("planner", "Close the books for February");
  await team.call("planner", "POST", `intents/${old.id}/status`, { status: "active", expected_version: old.version }).catch(() => undefined);
  return { tickets, inbox, checkout };
}

/** showLost tells a page that the agent of a task counts as dead, because nobody waits until it does. */
export async function showLost(page, { id, name, intent_id, assigned_agent, created_at }) {
  const lost = {
    id: "con_lost", kind: "holder_lost", since: created_at, intent_id, channel_id: null, message_id: null, agent_id: assigned_agent, subscription_id: null, task_id: id,
    summary: `The task "${name}" waits for ${assigned_agent}, which is presumed dead.`, actions: ["reassign"],
  };
  await page.route("**/v1/concerns*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, concerns: [...answer.concerns, lost] } });
  });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [address, key = "dev-key-001", clock] = process.argv.slice(2);
  const pass = clock ? async (seconds) => void (await fetch(`${clock}?seconds=${seconds}`)) : undefined;
  const made = await stage(new Team(address, key), pass ? { pass } : {});
  for (const [name, thing] of Object.entries(made)) {
    console.log(name, thing.id);
  }
}
