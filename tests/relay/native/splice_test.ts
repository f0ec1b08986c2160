import { equal, throws } from "node:assert/strict";
import { spliceBytes } from "../../../src/relay/native/relay_native.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("spliceBytes() puts the replacement in place of the span", async (t) => {
  const cases: [start: number, end: number, put: string, result: string][] = [
    [2, 4, "XY", "abXYef"],
    [2, 4, "longer", "ablongeref"],
    [2, 4, "", "abef"],
    [2, 2, "X", "abXcdef"],
    [0, 1, "X", "Xbcdef"],
    [5, 6, "X", "abcdeX"],
    [6, 6, "X", "abcdefX"],
    [0, 6, "", ""],
  ];
  for (const [start, end, put, result] of cases) {
    await t.step(`${start} to ${end} by "${put}"`, () => {
      const bytes = encode("abcdef");
      equal(decode(spliceBytes(bytes, { start, end }, encode(put))), result);
      equal(decode(bytes), "abcdef");
    });
  }
});

Deno.test("spliceBytes() works within a view of a larger buffer", () => {
  const view = encode("--abc--").subarray(2, 5);
  equal(decode(spliceBytes(view, { start: 1, end: 2 }, encode("X"))), "aXc");
});

Deno.test("spliceBytes() rejects a span that is not within the bytes", () => {
  for (const [start, end] of [[-1, 2], [3, 2], [2, 7], [7, 7]] as const) {
    throws(
      () => spliceBytes(encode("abcdef"), { start, end }, encode("X")),
      new RangeError(`Cannot splice bytes ${start} to ${end}: there are 6.`),
    );
  }
});
