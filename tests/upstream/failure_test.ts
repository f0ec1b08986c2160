import assert from "node:assert/strict";
import { reasonOf } from "../../src/upstream/failure.ts";

Deno.test("reasonOf() is not misled by the name of a host", () => {
  for (
    const host of ["dns.example", "expired.example", "tls-timeout.example"]
  ) {
    const message =
      `error sending request from 192.0.2.1:5 for https://${host}/v1 (192.0.2.2:443): ` +
      "client error (SendRequest): connection closed before message completed";
    const cause = new TypeError("fetch failed", { cause: new Error(message) });
    assert.equal(reasonOf(cause), "it closed the connection");
    assert.equal(reasonOf(new Error(message)), "it closed the connection");
  }
});

Deno.test("reasonOf() says of what it does not know that the connection failed", () => {
  assert.equal(reasonOf(new Error("odd")), "the connection failed");
  assert.equal(reasonOf("odd"), "the connection failed");
});
