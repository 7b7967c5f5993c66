import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidArgumentError } from "../../src/errors.js";
import { toJsonObject } from "../../src/json.js";

test("a payload is what JSON makes of it", () => {
  class Point {
    constructor(
      readonly x: number,
      readonly y: number | undefined,
    ) {}
  }
  const value = {
    at: new Date(0),
    point: new Point(1, undefined),
    list: [undefined, null, "ä"],
    nested: { a: { b: [true] } },
  };
  assert.deepEqual(toJsonObject(value, "payload"), JSON.parse(JSON.stringify(value)));
  const strange = JSON.parse('{"__proto__": {"a": 1}}');
  assert.deepEqual(JSON.stringify(toJsonObject(strange, "payload")), '{"__proto__":{"a":1}}');
});

test("a value that JSON would silently change is refused, with its place", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const refused: [unknown, string][] = [
    [{ a: [1, NaN] }, "payload.a[1]"],
    [{ a: Infinity }, "payload.a"],
    [{ f: () => 1 }, "payload.f"],
    [{ n: 1n }, "payload.n"],
    [{ s: "half \ud83d" }, "payload.s"],
    ["text", "payload"],
    [null, "payload"],
    [[1], "payload"],
  ];
  for (const [value, field] of refused) {
    assert.throws(
      () => toJsonObject(value, "payload"),
      (error) => error instanceof InvalidArgumentError && error.violations[0]?.field === field,
      field,
    );
  }
  assert.throws(() => toJsonObject(circle, "payload"), InvalidArgumentError);
});
