import assert from "node:assert/strict";
import {
  lockedPackages,
  packageStates,
} from "../../release/locked_packages.ts";

const PROGRAM = JSON.stringify({
  specifiers: { "npm:@scope/a@1.0.0": "1.0.0_b@2.0.0" },
  npm: { "@scope/a@1.0.0_b@2.0.0": {}, "b@2.0.0": {} },
});

const TESTS = JSON.stringify({
  specifiers: { "npm:b@2.0.0": "2.0.0" },
  npm: { "@scope/a@1.0.0": {}, "b@2.0.0": {}, "c@3.0.0": {}, "d@1.0.0": {} },
});

const PACKAGES = lockedPackages([PROGRAM, TESTS]);

Deno.test("lockedPackages() lists each package of both locks once, and marks packages that the source imports", () => {
  assert.deepEqual(PACKAGES, [
    { name: "@scope/a", version: "1.0.0", isNamed: true },
    { name: "b", version: "2.0.0", isNamed: true },
    { name: "c", version: "3.0.0", isNamed: false },
    { name: "d", version: "1.0.0", isNamed: false },
  ]);
  assert.throws(
    () => lockedPackages(['{"specifiers":{},"npm":{"a":{}}}']),
    /^Error: Cannot read the lock: a is not name@version\.$/,
  );
});

Deno.test("packageStates() finds deprecated, yanked and outdated packages, and no fault when the registry does not respond", async () => {
  const versions: Readonly<Record<string, object>> = {
    "@scope/a": { "1.0.0": { deprecated: "renamed" }, "1.1.0": {} },
    b: { "1.9.0": {} },
    c: { "3.0.0": { deprecated: "" }, "4.0.0": {} },
  };
  const states = await packageStates(PACKAGES, {
    read: (name) => {
      const known = versions[name];
      const latest = known && Object.keys(known).at(-1);
      return Promise.resolve(
        known &&
          JSON.stringify({ "dist-tags": { latest }, versions: known }),
      );
    },
  });
  assert.deepEqual(
    states.map(({ name, latest, fault }) => [name, latest, fault]),
    [
      ["@scope/a", "1.1.0", "deprecated"],
      ["b", "1.9.0", "yanked"],
      ["c", "4.0.0", undefined],
      ["d", undefined, undefined],
    ],
  );
});

Deno.test("packageStates() finds no fault in a response without the registry's data", async () => {
  for (const text of ["<html>Bad gateway</html>", "{}", "null"]) {
    const states = await packageStates(PACKAGES, {
      read: () => Promise.resolve(text),
    });
    assert.ok(states.every(({ latest, fault }) => !latest && !fault), text);
  }
});

Deno.test("no package in either lock was deprecated when it was locked", async () => {
  for (const path of ["../../deno.lock", "../deno.lock"]) {
    const text = await Deno.readTextFile(new URL(path, import.meta.url));
    assert.doesNotMatch(text, /"deprecated": true/, path);
  }
});
