// What all scripts need of a browser: a page that is watched. Whatever the page logs as an error, throws, or asks of another server is wrong.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

// The console's sources pin the browser's driver and axe-core.
const require = createRequire(new URL("../../../console/package.json", import.meta.url));
export const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

/** Every wait is for something that must happen, and a busy machine is no failure. */
export const patience = 30_000;

/** withPage opens a page at a server's console, and closes the browser in the end. options are those of a browser's context. */
export async function withPage(address, options, use) {
  const browser = await chromium.launch({ executablePath: process.env.OPENINTENT_TEST_CHROMIUM, args: ["--no-sandbox"] });
  try {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(patience);
    await replaceScripts(context, address);
    const page = await context.newPage();
    const wrong = watch(page, address);
    await use(page, context);
    assert.deepEqual(wrong, [], "nothing went wrong in the page");
  } finally {
    // What still answers calls in the place of the server has nothing to answer when the pages close.
    const contexts = browser.contexts();
    await Promise.all([...contexts, ...contexts.flatMap((one) => one.pages())].map((one) => one.unrouteAll({ behavior: "ignoreErrors" })));
    await browser.close();
  }
}

/**
 * replaceScripts serves the scripts and styles of a folder in place of the server's, if OPENINTENT_TEST_PAGES names one. So whoever plants a fault
 * in the console's sources sees which script notices it, without building the server anew.
 */
async function replaceScripts(context, address) {
  const folder = process.env.OPENINTENT_TEST_PAGES;
  if (!folder) {
    return;
  }
  const { readdir } = await import("node:fs/promises");
  for (const name of await readdir(`${folder}/assets`)) {
    const kind = name.slice(name.lastIndexOf("."));
    await context.route(`${address}/console/assets/*${kind}`, (route) => route.fulfill({ path: `${folder}/assets/${name}` }));
  }
}

function watch(page, address) {
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`thrown: ${error.stack}`));
  page.on("console", (message) => {
    // A refusal that the page expects is logged by the browser itself; the page's own words and those of its policy are not.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      wrong.push(`logged: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(address).origin && !request.url().startsWith("blob:")) {
      wrong.push(`asked of another server: ${request.url()}`);
    }
  });
  page.on("response", (response) => {
    if (response.status() >= 500) {
      wrong.push(`${response.status()} for ${response.url()}`);
    }
  });
  return wrong;
}

/** signIn signs in with the form. */
export async function signIn(page, address, { key, agent = "" }) {
  await page.goto(`${address}/console`);
  await page.getByLabel("API key").fill(key);
  await page.getByLabel("Act as").fill(agent);
  await page.getByRole("button", { name: "Sign in" }).click();
  await live(page);
}

/** live waits until the page says that it is. */
export async function live(page) {
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
}

/** holdAnswer keeps the next answer to a call back until the function that it returns is called, which waits until the page has the answer. */
export async function holdAnswer(page, calls) {
  let release, pass;
  const released = new Promise((resolve) => (release = resolve));
  const passed = new Promise((resolve) => (pass = resolve));
  const hold = async (route) => {
    const response = await route.fetch();
    await released;
    await route.fulfill({ response });
    pass();
  };
  await page.route(calls, hold, { times: 1 });
  return async () => {
    release();
    await passed;
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  };
}

/** looks are the colour schemes and widths in which every page and every state is looked at. */
export const looks = ["light", "dark"].flatMap((colorScheme) =>
  [1440, 320].map((width) => ({ name: `${colorScheme}-${width}`, options: { viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce" } })),
);

/**
 * look looks at a page as it is: axe-core finds nothing, and nothing is cut off at the side. With OPENINTENT_SCREENSHOTS, a folder, it takes a
 * picture for those who want to look themselves.
 */
export async function look(page, name) {
  const wide = await page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll("main")] // a page lies in a box of its own that scrolls
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ localName, scrollWidth, clientWidth }) => `${localName}: ${scrollWidth} is wider than ${clientWidth}`),
  );
  assert.deepEqual(wide, [], `${name}: nothing is cut off at the side`);
  if (process.env.OPENINTENT_SCREENSHOTS) {
    await page.screenshot({ path: `${process.env.OPENINTENT_SCREENSHOTS}/${name}.png` });
  }
  await checkAccessibility(page, name);
}

/** checkAccessibility lets axe-core look at the page as it is. */
export async function checkAccessibility(page, where) {
  await page.evaluate(await source(axe));
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }),
  );
  const found = violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${where}: ${id}: ${help}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
  assert.deepEqual(found, []);
}

const sources = new Map();

async function source(path) {
  const { readFile } = await import("node:fs/promises");
  if (!sources.has(path)) {
    sources.set(path, await readFile(path, "utf8"));
  }
  return sources.get(path);
}
