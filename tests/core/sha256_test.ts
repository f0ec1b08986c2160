import assert from "node:assert/strict";
import { sha256Hex } from "../../src/core/sha256.ts";

Deno.test("sha256Hex() returns the digest of the FIPS 180 example", () => {
  assert.equal(
    sha256Hex("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

Deno.test("sha256Hex() hashes the UTF-8 bytes", async () => {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode("ключ 🔑"),
  );
  assert.equal(sha256Hex("ключ 🔑"), new Uint8Array(digest).toHex());
});
