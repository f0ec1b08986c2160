import assert from "node:assert/strict";
import {
  headerNameFault,
  isCredential,
  isHeaderValue,
} from "../../src/config/http_header.ts";

Deno.test("headerNameFault() accepts names that concern the upstream alone", () => {
  for (
    const name of [
      "x-team",
      "openai-organization",
      "user-agent",
      "cookie",
      "x-api-key",
    ]
  ) {
    assert.equal(headerNameFault(name, "bearer"), undefined);
  }
});

Deno.test("headerNameFault() refuses what is no header name", () => {
  for (const name of ["", "a b", "a:b", "a\n", "é", "(a)"]) {
    assert.equal(headerNameFault(name, "none"), "is not a valid header name");
  }
});

Deno.test("headerNameFault() refuses what belongs to one hop or to the gateway", () => {
  const names = ["host", "connection", "transfer-encoding", "te", "upgrade"];
  for (const name of [...names, "content-length", "accept-encoding"]) {
    assert.equal(
      headerNameFault(name, "none"),
      "is a header that the gateway sets itself; remove it",
    );
  }
});

Deno.test("headerNameFault() refuses to replace the credential, unless there is none", () => {
  const fault =
    "would replace the credential of auth; remove it, or use `scheme: none`";
  assert.equal(headerNameFault("authorization", "bearer"), fault);
  assert.equal(headerNameFault("x-api-key", "x-api-key"), fault);
  assert.equal(headerNameFault("authorization", "none"), undefined);
  assert.equal(headerNameFault("authorization", undefined), undefined);
});

Deno.test("isHeaderValue() accepts printable ASCII only", () => {
  for (const value of ["", "a", "a b\tc", "~!"]) {
    assert.ok(isHeaderValue(value));
  }
  for (const value of [" a", "a ", "a\r\nb: c", "a\u0000", "ü", "\u007f"]) {
    assert.ok(!isHeaderValue(value), JSON.stringify(value));
  }
});

Deno.test("isCredential() accepts printable ASCII without spaces, up to 16 KiB", () => {
  assert.ok(isCredential("sk-ABC_123.~+/="));
  assert.ok(isCredential("x".repeat(16_384)));
  for (const value of ["", "a b", "a\n", "a\r", "é", "x".repeat(16_385)]) {
    assert.ok(!isCredential(value), JSON.stringify(value.slice(0, 9)));
  }
});
