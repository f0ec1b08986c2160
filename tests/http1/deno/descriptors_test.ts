import assert from "node:assert/strict";
import { countFree } from "../../../src/http1/deno/descriptors.ts";

const isLinux = Deno.build.os === "linux";

function openNow(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

Deno.test({
  name: "countFree() holds few descriptors in no turn of the event loop",
  ignore: !isLinux,
  async fn() {
    const before = openNow();
    const counted = Array.from({ length: 10 }, () => countFree(16));
    assert.equal(openNow(), before);
    assert.deepEqual(new Set(await Promise.all(counted)), new Set([undefined]));
  },
});

Deno.test({
  name:
    "countFree() lets other work run between many descriptors, and closes them",
  ignore: !isLinux,
  async fn() {
    const before = openNow();
    let between = 0;
    const counted = countFree(200);
    setTimeout(() => between = openNow() - before, 0);
    assert.equal(await counted, undefined);
    assert.ok(between >= 64 && between < 200, `${between}`);
    assert.equal(openNow(), before);
  },
});
