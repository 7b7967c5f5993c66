#!/usr/bin/env node
// Runs the program of @openintent/server for this system, which lies in a package of its own. npm chooses that package by its fields
// "os" and "cpu"; nothing is fetched here.
"use strict";

const { spawn } = require("node:child_process");
const { accessSync, chmodSync, constants } = require("node:fs");
const { constants: system } = require("node:os");
const { dirname, join } = require("node:path");
const { optionalDependencies, version } = require("../package.json");

// fail ends the launcher with the exit code of a program that cannot be run.
function fail(sentence) {
  console.error(`openintent: ${sentence}`);
  process.exit(126);
}

// find returns the path of the program.
function find() {
  const name = `@openintent/server-${process.platform}-${process.arch}`;
  if (!(name in optionalDependencies)) {
    const known = Object.keys(optionalDependencies).map((each) => each.replace("@openintent/server-", ""));
    fail(`there is no program for ${process.platform}-${process.arch}; there are programs for ${known.join(", ")}. It can be built from its sources, with Go.`);
  }
  let manifest;
  try {
    manifest = require.resolve(`${name}/package.json`);
  } catch {
    fail(`the package ${name}, which holds the program for this system, is not installed. ` +
      `Install it beside @openintent/server, in the same version (${version}). npm leaves it out when it is told to omit optional packages ` +
      `(--omit=optional), and when node_modules was copied from another system.`);
  }
  const found = require(manifest).version;
  if (found !== version) {
    fail(`${name} has version ${found} and @openintent/server has ${version}. Install both in the same version.`);
  }
  const program = join(dirname(manifest), "bin", process.platform === "win32" ? "openintent.exe" : "openintent");
  try {
    accessSync(program, constants.X_OK);
  } catch {
    try {
      chmodSync(program, 0o755); // some installers drop the mode
    } catch (trouble) {
      fail(`the program ${program} cannot be run: ${trouble.message}. Install ${name} again.`);
    }
  }
  return program;
}

// run starts the program as a child, passes signals on, and ends as the child ends.
function run(program, words) {
  const child = spawn(program, words, { stdio: "inherit" });
  const onTerminal = [0, 1, 2].some((descriptor) => require("node:tty").isatty(descriptor));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"]) {
    process.on(signal, () => {
      // A terminal sends these to the child, too. A second one would end it before it has finished.
      if (!(onTerminal && (signal === "SIGINT" || signal === "SIGQUIT"))) child.kill(signal);
    });
  }
  child.on("error", (trouble) => fail(`the program ${program} cannot be run: ${trouble.message}`));
  child.on("exit", (code, signal) => process.exit(signal ? 128 + system.signals[signal] : code));
}

const program = find();
const words = process.argv.slice(2);
if (typeof process.execve === "function" && process.platform !== "win32") {
  // Newer versions of Node.js can become the program, which then gets every signal itself.
  process.execve(program, ["openintent", ...words], process.env);
} else {
  run(program, words);
}
