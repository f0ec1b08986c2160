import assert from "node:assert/strict";
import { packageUrl, readPackages } from "../../release/packages.ts";

const SHA512 = new Uint8Array(64).fill(1);
const INTEGRITY = `sha512-${SHA512.toBase64()}`;

const LOCK = JSON.stringify({
  version: "5",
  npm: {
    "@scope/peer@2.0.0_zod@4.6.7": {
      integrity: INTEGRITY,
      dependencies: ["zod", "twice@1.0.0"],
    },
    "twice@1.0.0": { integrity: INTEGRITY },
    "twice@2.0.0": { integrity: INTEGRITY },
    "zod@4.6.7": { integrity: INTEGRITY },
  },
});

const readLicensed = () => Promise.resolve('{"license":"MIT OR Apache-2.0"}');

Deno.test("readPackages() lists the pinned packages, also with peers and several versions", async () => {
  const packages = await readPackages({
    lock: LOCK,
    readManifest: readLicensed,
  });
  assert.deepEqual(packages[0], {
    name: "@scope/peer",
    version: "2.0.0",
    license: "MIT OR Apache-2.0",
    sha512: "01".repeat(64),
    dependsOn: ["pkg:npm/twice@1.0.0", "pkg:npm/zod@4.6.7"],
  });
  assert.deepEqual(packages.map(packageUrl), [
    "pkg:npm/%40scope/peer@2.0.0",
    "pkg:npm/twice@1.0.0",
    "pkg:npm/twice@2.0.0",
    "pkg:npm/zod@4.6.7",
  ]);
});

Deno.test("readPackages() releases nothing without a licence, a checksum or a known version", async () => {
  const read = (lock: object, manifest = '{"license":"MIT"}') =>
    readPackages({
      lock: JSON.stringify(lock),
      readManifest: () => Promise.resolve(manifest),
    });
  const entry = { integrity: INTEGRITY };
  await assert.rejects(
    read({ npm: { "a@1.0.0": entry } }, "{}"),
    /^Error: Cannot list the packages: a@1\.0\.0 names no licence$/,
  );
  await assert.rejects(read({ npm: { "a@1.0.0": { integrity: "sha1-x" } } }));
  await assert.rejects(
    read({ npm: { a: entry } }),
    /: a is not a name and version$/,
  );
  await assert.rejects(
    read({ npm: { "a@1.0.0": { ...entry, dependencies: ["b"] } } }),
    /: b is not locked$/,
  );
});
