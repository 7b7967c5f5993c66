import assert from "node:assert/strict";
import * as sdk from "../../src/exports.js";
import { knowing, type Values } from "./scenario.js";

const ofLists = ["count", "min_count", "payloads", "payloads_unordered", "senders_unordered", "distinct_ids"];

/** Compares a result with what a step expects: the expected members, deeply, and no others. */
export function expectResult(actual: any, expected: any, where: string): void {
  if (expected === null || expected === undefined) {
    assert.ok(actual === null || actual === undefined, `${where}: ${JSON.stringify(actual)} is not null`);
  } else if (Array.isArray(expected)) {
    assert.ok(
      Array.isArray(actual) && actual.length === expected.length,
      `${where}: ${JSON.stringify(actual)} is another list`,
    );
    expected.forEach((item, i) => expectResult(actual[i], item, `${where}[${i}]`));
  } else if (Array.isArray(actual) && typeof expected === "object") {
    expectList(actual, expected, where);
  } else if (typeof expected === "object") {
    assert.ok(typeof actual === "object" && actual !== null, `${where}: ${JSON.stringify(actual)} is not an object`);
    for (const [name, member] of Object.entries(expected)) {
      expectResult(actual[name], member, `${where}.${name}`);
    }
  } else {
    assert.deepEqual(actual, expected, where);
  }
}

function expectList(list: any[], expected: Values, where: string): void {
  knowing(ofLists, expected, where);
  const payloads = list.map((item) => item.payload);
  const { count, min_count, payloads: ordered, payloads_unordered, senders_unordered, distinct_ids } = expected;
  if (count !== undefined) {
    assert.equal(list.length, count, `${where}: count of ${JSON.stringify(payloads)}`);
  }
  if (min_count !== undefined) {
    assert.ok(list.length >= min_count, `${where}: only ${list.length} of ${min_count}`);
  }
  if (ordered !== undefined) {
    expectResult(payloads, ordered, `${where}: payloads`);
  }
  if (payloads_unordered !== undefined) {
    expectUnordered(payloads, payloads_unordered, `${where}: payloads`);
  }
  if (senders_unordered !== undefined) {
    expectUnordered(
      list.map((item) => item.sender),
      senders_unordered,
      `${where}: senders`,
    );
  }
  if (distinct_ids) {
    assert.equal(new Set(list.map((item) => item.id)).size, list.length, `${where}: an id came twice`);
  }
}

/** Finds, in any order, a different item for each expected one. */
function expectUnordered(actual: any[], expected: any[], where: string): void {
  const left = [...actual];
  for (const item of expected) {
    const found = left.findIndex((candidate) => matches(candidate, item));
    assert.ok(found >= 0, `${where}: ${JSON.stringify(item)} is not in ${JSON.stringify(left)}`);
    left.splice(found, 1);
  }
  assert.deepEqual(left, [], `${where}: more came`);
}

function matches(actual: any, expected: any): boolean {
  try {
    expectResult(actual, expected, "");
    return true;
  } catch {
    return false;
  }
}

/** Compares a failure with what a step expects. */
export function expectError(error: any, expected: Values, where: string): void {
  knowing(["class", "reason", "code", "message_contains", "message_id"], expected, where);
  assert.ok(error instanceof sdk.OpenIntentError, `${where}: ${error?.stack ?? error} is no OpenIntentError`);
  if (expected["class"] !== undefined) {
    const known = (sdk as Values)[expected["class"]];
    assert.ok(known, `${where}: there is no class ${expected["class"]}`);
    assert.ok(error instanceof known, `${where}: it is ${error.name} ${error.reason}: ${error.message}`);
  }
  for (const field of ["reason", "code"] as const) {
    if (expected[field] !== undefined) {
      assert.equal(error[field], expected[field], `${where}: ${field} of ${error.message}`);
    }
  }
  if (expected["message_contains"] !== undefined) {
    assert.ok(error.message.includes(expected["message_contains"]), `${where}: the text is ${error.message}`);
  }
  if (expected["message_id"] === "any") {
    assert.ok(error.messageId, `${where}: there is no message id`);
  } else if (expected["message_id"] !== undefined) {
    assert.equal(error.messageId, expected["message_id"], `${where}: message_id`);
  }
}
