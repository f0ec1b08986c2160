import assert from "node:assert/strict";
import { plainWords } from "../../../../src/protocols/canonical/failure/error_text.ts";

Deno.test("plainWords() puts text on one line and bounds it", () => {
  assert.equal(
    plainWords(" upstream\n\tconnect \u0007error \n"),
    "upstream connect error",
  );
  assert.equal(plainWords(""), "");
  assert.equal(plainWords("é".repeat(600)), `${"é".repeat(500)}…`);
});

Deno.test("plainWords() tells a page by its title, without one by its text", () => {
  // Cloudflare's page for an origin in trouble, and nginx's.
  assert.equal(
    plainWords(
      "<!DOCTYPE html>\n<html>\n<head>\n<title>api.example.com | 522: Connection timed out</title><style>p{}</style>",
    ),
    "api.example.com | 522: Connection timed out",
  );
  assert.equal(
    plainWords("<html><head><title>A &amp; B &lt;&quot;&#39;&gt;</title>"),
    "A & B <\"'>",
  );
  assert.equal(
    plainWords(
      "<html><head><title> </title><style>p { x: y }</style><script>let a = 1 < 2;</script></head><body><h1>It is&nbsp;down</h1><p>Come back</p></body></html>",
    ),
    "It is down Come back",
  );
});

Deno.test("plainWords() is quick with what was made to be slow", () => {
  const hostile = `<html>${"<title><script>".repeat(100_000)}`;
  assert.equal(plainWords(hostile), "");
  assert.equal(plainWords(`<html>${"<".repeat(200_000)}`), "");
});
