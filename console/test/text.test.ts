import assert from "node:assert/strict";
import { test } from "node:test";

import { curlOf } from "../src/text/curl.ts";
import { markOf } from "../src/text/mark.ts";
import { bytesOf, objectIn, outline, pairsOf, saidIn } from "../src/text/payload.ts";
import { rawMember } from "../src/text/raw.ts";
import { timesIn } from "../src/text/sentence.ts";
import { count, size } from "../src/text/size.ts";
import { ago, brief, dayAndClock, dayName, left, long } from "../src/text/time.ts";
import { beginning, piecesOf, plain } from "../src/text/visible.ts";

test("signs that would be invisible or reverse what follows are shown by their codes", () => {
  assert.deepEqual(piecesOf("evil\u202egnp.exe"), [{ text: "evil" }, { code: "U+202E", name: "right-to-left override" }, { text: "gnp.exe" }]);
  assert.deepEqual(piecesOf("\u0007\u001b[31m"), [
    { code: "U+0007", name: "control character" },
    { code: "U+001B", name: "control character" },
    { text: "[31m" },
  ]);
  assert.deepEqual(piecesOf("a\ud800b\u{e0041}\ue000"), [
    { text: "a" },
    { code: "U+D800", name: "half of a sign" },
    { text: "b" },
    { code: "U+E0041", name: "invisible sign" },
    { code: "U+E000", name: "invisible sign" },
  ]);
});

test("a text with very many such signs has few pieces, and still shows all of them", () => {
  const pieces = piecesOf("a\u202e".repeat(10_000) + "\r\nend\r", 10);
  assert.equal(pieces.length, 11);
  assert.deepEqual(pieces[9], { code: "U+202E", name: "right-to-left override" });
  assert.deepEqual(pieces[10], { text: "a[U+202E]".repeat(9_995) + "\r\nend[U+000D]" });
});

test("what texts are made of stays", () => {
  for (const text of ["", "tab\tand\nline", "line\r\nline", "שלום مرحبا", "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}", "क्\u200dष", "❤\ufe0f", "é e\u0301"]) {
    assert.equal(piecesOf(text).map((piece) => ("text" in piece ? piece.text : piece.code)).join(""), text);
    assert.ok(piecesOf(text).every((piece) => "text" in piece));
  }
  assert.deepEqual(piecesOf("a\rb").length, 3, "a lone carriage return is no line's end");
});

test("a plain text has one line and no strange signs", () => {
  assert.equal(plain(" a\n\u202e b\u0000 "), "a b");
  assert.equal(plain("\u{1f525}".repeat(300), 5), "\u{1f525}".repeat(4) + "…");
});

test("a long text is cut at a line or a whole sign", () => {
  assert.deepEqual(beginning("a\nb\nc", 2, 100), { text: "a\nb", cut: true });
  assert.deepEqual(beginning("a\nb\n", 2, 100), { text: "a\nb\n", cut: false });
  assert.deepEqual(beginning("\u{1f525}\u{1f525}", 9, 3), { text: "\u{1f525}", cut: true });
  assert.deepEqual(beginning("", 9, 3), { text: "", cut: false });
});

test("the same name has the same mark, and others have others", () => {
  assert.deepEqual(markOf("planner"), markOf("planner"));
  const marks = new Set(Array.from({ length: 200 }, (_, i) => JSON.stringify(markOf(`agent-${i}`).cells)));
  assert.ok(marks.size > 195, `${marks.size} of 200 are different`);
  assert.equal(new Set(Array.from({ length: 100 }, (_, i) => markOf(`agent-${i}`).hue)).size, 12);
  for (const name of ["planner", "", "\u{1f525}", "a".repeat(300)]) {
    const { cells } = markOf(name);
    assert.equal(cells.length, 25);
    assert.ok(cells.includes(true) && cells.includes(false));
    for (let row = 0; row < 5; row++) {
      assert.equal(cells[row * 5], cells[row * 5 + 4], "it is symmetrical");
    }
  }
  assert.deepEqual(
    ["you", "reviewer-anna", "Åsa Öberg", "--", "\u{1f525}"].map((name) => markOf(name).letters),
    ["YO", "RA", "ÅÖ", "?", "?"],
  );
});

test("a payload's words are told from the rest", () => {
  assert.deepEqual(saidIn({ text: "Hello", n: 1 }), { words: "Hello", rest: { n: 1 } });
  assert.deepEqual(saidIn({ question: "Why?", content: "Because" }), { words: "Because", rest: { question: "Why?" } });
  assert.deepEqual(saidIn({ text: 5, n: 1 }), { words: "", rest: { text: 5, n: 1 } });
  assert.deepEqual(saidIn({ text: "  " }), { words: "", rest: { text: "  " } });
});

test("outlines are short", () => {
  assert.equal(outline({ batch: 1, rows: [] }), "{batch, rows}");
  assert.equal(outline(Array(3).fill(0)), "[3]");
  assert.equal(outline({ a: 1, bbbbbbbbbb: 2 }, 8), "{a, …}");
  assert.ok(outline({ ["x".repeat(500)]: 1 }).length < 70);
  assert.ok(outline("x".repeat(500)).length < 70);
  assert.equal(bytesOf({ a: "ä" }), 10);
});

test("few short fields read as one line", () => {
  assert.deepEqual(pairsOf({ ticket: 9393, label: "billing", done: false, none: null }), [
    ["ticket", "9393", "number"],
    ["label", "billing", "string"],
    ["done", "false", "boolean"],
    ["none", "null", "null"],
  ]);
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f${i}`, i]));
  for (const fields of [{}, { a: [] }, { a: {} }, { a: "" }, { a: "x\ny" }, { a: "x".repeat(60) }, many]) {
    assert.equal(pairsOf(fields), undefined, JSON.stringify(fields));
  }
});

test("only an object is offered as JSON", () => {
  assert.deepEqual(objectIn(' {"a": 1} '), { a: 1 });
  for (const text of ["", "{", "[1]", "1", '"a"', "null", "{a: 1}", "hello {}"]) {
    assert.equal(objectIn(text), undefined, text);
  }
});

test("a member is found byte for byte", () => {
  const payload = '{"a": 1.0, "b": [1e3, "]}\\"", {"c":  null}], "payload": 2}';
  const source = `{"id": "msg_1", "metadata": {"payload": 0}, "pay\\u006coad" : ${payload} , "z": true}`;
  assert.equal(rawMember(source, "payload"), payload);
  assert.equal(rawMember(source, "id"), '"msg_1"');
  assert.equal(rawMember(source, "z"), "true");
  assert.equal(rawMember('{"n":-1.50}', "n"), "-1.50");
  assert.equal(rawMember(source, "absent"), undefined);
  assert.equal(rawMember("[]", "a"), undefined);
  assert.equal(rawMember("{}", "a"), undefined);
});

test("a message becomes a command that a shell takes", () => {
  const sent = { channel_id: "chan_1", message_type: "request", correlation_id: null, to: "bob", subject: "It's here" };
  const command = curlOf(`{"payload": {"text": "it's $HOME", "n": 1.0}}`, sent, "http://127.0.0.1:8000/v1", "alice");
  assert.equal(
    command,
    "curl -sS 'http://127.0.0.1:8000/v1/channels/chan_1/messages' \\\n" +
      '  -H "X-API-Key: $OPENINTENT_API_KEY" \\\n' +
      "  -H 'X-Agent-ID: alice' \\\n" +
      `  -d '{"message_type": "request", "to": "bob", "subject": "It'\\''s here", "payload": {"text": "it'\\''s $HOME", "n": 1.0}}'`,
  );
  const answer = { channel_id: "chan_1", message_type: "response", correlation_id: "msg_7", to: "alice" };
  assert.match(curlOf('{"payload": {}}', answer, "http://x/v1", ""), /messages\/msg_7\/reply' \\\n.*\\\n {2}-d '\{"payload": \{\}\}'$/);
});

test("times in the server's sentences are found", () => {
  const time = Date.UTC(2026, 10, 30, 2, 9, 22);
  assert.deepEqual(timesIn("It waits until 2026-11-30T02:09:22Z."), ["It waits until ", time, "."]);
  assert.deepEqual(timesIn("Nothing."), ["Nothing."]);
  assert.deepEqual(timesIn("2026-99-99T99:99:99Z"), ["2026-99-99T99:99:99Z"]);
});

test("durations are short and right", () => {
  const [s, m, h, d] = [1000, 60_000, 3_600_000, 86_400_000];
  assert.deepEqual([0, 4 * s, 12 * s, 90 * s, 3 * h + 59 * m, 13 * d, 15 * d].map((passed) => ago(0, passed)), [
    "now",
    "now",
    "12s ago",
    "1m ago",
    "3h ago",
    "13d ago",
    "2w ago",
  ]);
  assert.equal(brief(59_999), "59s");
  assert.deepEqual([0, 12, 999, 1499, 9999, 12_000, 61_000, 2 * h, 2 * h + 13 * m, d + h].map(long), [
    "0 ms",
    "12 ms",
    "999 ms",
    "1.4 s",
    "9.9 s",
    "12 s",
    "1 min 1 s",
    "2 h",
    "2 h 13 min",
    "1 d 1 h",
  ]);
  assert.deepEqual([-5, 400, 61_000, 10 * m, h - 1, h + m].map(left), ["0:00", "0:01", "1:01", "10 min", "59 min", "1 h 1 min"]);
});

test("days have names", () => {
  const now = new Date(2026, 10, 24, 12).getTime();
  assert.equal(dayName(now, now), "Today");
  assert.equal(dayName(now - 86_400_000, now), "Yesterday");
  assert.match(dayName(now - 10 * 86_400_000, now), /^Saturday,? 14 November$/);
  assert.match(dayName(now - 400 * 86_400_000, now), /^Monday,? 20 October 2025$/);
  assert.equal(dayAndClock(now, now), "12:00");
  assert.equal(dayAndClock(now - 86_400_000, now), "23 Nov, 12:00");
});

test("numbers have units", () => {
  assert.deepEqual([0, 1023, 1024, 150_000, 3 << 20].map(size), ["0 B", "1023 B", "1.0 KiB", "146 KiB", "3.0 MiB"]);
  assert.deepEqual([count(1, "entry", "entries"), count(1200, "entry", "entries"), count(0, "thing")], ["1 entry", "1,200 entries", "0 things"]);
});
