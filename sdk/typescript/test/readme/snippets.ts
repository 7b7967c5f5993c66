import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// The snippets of the README, and folders in which they find this package as a user's program does.

export const packageFolder = fileURLToPath(new URL("../../../", import.meta.url));

/** Where compile.ts puts the compiled snippets, as snippet0.js and so on. */
export const compiled = join(packageFolder, "build", "readme");

const readme = readFileSync(join(packageFolder, "README.md"), "utf8");

/** The README's blocks of code in a language. */
export const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp("^```" + language + "\\n(.*?)^```", "gms"))].map(([, code]) => code!);

/** A new folder in which the package is installed. */
export function userFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "openintent-readme-"));
  mkdirSync(join(folder, "node_modules", "@openintent"), { recursive: true });
  symlinkSync(packageFolder, join(folder, "node_modules", "@openintent", "channels"));
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  return folder;
}
