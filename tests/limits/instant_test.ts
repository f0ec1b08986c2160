import assert from "node:assert/strict";
import {
  durationMs,
  instantAfter,
  instantOfMs,
  instantOfSeconds,
  instantOfText,
} from "../../src/limits/instant.ts";

Deno.test("instantOfMs() and instantOfSeconds() keep their units apart", () => {
  assert.equal(instantOfMs(1782057600000), "2026-06-21T16:00:00.000Z");
  assert.equal(instantOfSeconds(1782057600), "2026-06-21T16:00:00.000Z");
});

Deno.test("instantOfMs() knows no instant where none was told", () => {
  for (const ms of [0, -1, null, undefined, NaN, Infinity, 1e300, 8.64e15]) {
    assert.equal(instantOfMs(ms), null, String(ms));
    assert.equal(instantOfSeconds(ms), null, String(ms));
  }
});

Deno.test("instantOfMs() keeps an instant of the past", () => {
  assert.equal(instantOfMs(1), "1970-01-01T00:00:00.001Z");
});

Deno.test("instantOfText() reads what providers write", () => {
  const instants = {
    "2026-08-04T16:20:00Z": "2026-08-04T16:20:00.000Z",
    "2026-08-04T16:20:00.001100+00:00": "2026-08-04T16:20:00.001Z",
    "2026-01-09T15:23:13.373329235Z": "2026-01-09T15:23:13.373Z",
    "2026-08-06T19:00:00+02:00": "2026-08-06T17:00:00.000Z",
    "2026-08-06T19:00:00+0200": "2026-08-06T17:00:00.000Z",
    "2026-08-06 19:00:00": "2026-08-06T19:00:00.000Z",
    "2026-08-06T19:00": "2026-08-06T19:00:00.000Z",
    "2026-10-01": "2026-10-01T00:00:00.000Z",
  };
  for (const [text, expected] of Object.entries(instants)) {
    assert.equal(instantOfText(text), expected, text);
  }
});

Deno.test("instantOfText() knows no instant in any other text", () => {
  const texts = ["", "soon", "1782057600", "2026-13-01", "2026-01-01T25:00Z"];
  for (const text of [...texts, "-5", "May 2026", null, undefined]) {
    assert.equal(instantOfText(text), null, String(text));
  }
});

Deno.test("instantAfter() adds a delay", () => {
  assert.equal(instantAfter(1000, 500), "1970-01-01T00:00:01.500Z");
  assert.equal(instantAfter(1000, 0), "1970-01-01T00:00:01.000Z");
  for (const delay of [-1, null, undefined]) {
    assert.equal(instantAfter(1000, delay), null);
  }
});

Deno.test("durationMs() reads the durations of reset headers", () => {
  const durations = {
    "6m0s": 360_000,
    "1s": 1000,
    "12ms": 12,
    "2m59.56s": 179_560,
    "1h30m": 5_400_000,
    "1d2h": 93_600_000,
    "0s": 0,
  };
  for (const [text, expected] of Object.entries(durations)) {
    assert.equal(durationMs(text), expected, text);
  }
  for (const text of ["", "5", "s", "1s2m", "-1s", "1 s", "soon"]) {
    assert.equal(durationMs(text), null, text);
  }
});
