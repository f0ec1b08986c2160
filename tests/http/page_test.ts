import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { pageResponse } from "../../src/http/page.ts";

const answer = pageResponse();
const html = await answer.text();
const policy = new Map(
  (answer.headers.get("content-security-policy") ?? "").split("; ").map(
    (directive): [string, string] => {
      const [name = "", ...values] = directive.split(" ");
      return [name, values.join(" ")];
    },
  ),
);

function hashOf(tag: string): string {
  const [, text = ""] =
    html.match(new RegExp(`<${tag}[^>]*>([^]*?)</${tag}>`)) ?? [];
  assert.notEqual(text, "");
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

Deno.test("the page's policy allows its own script and style, questions to the gateway, and nothing else", () => {
  assert.deepEqual(Object.fromEntries(policy), {
    "default-src": "'none'",
    "script-src": hashOf("script"),
    "style-src": hashOf("style"),
    "img-src": "data:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
  });
});

Deno.test("the page is one file: it loads nothing, links nowhere and holds no handler or style in its markup", () => {
  const [markup = ""] = html.split('<script type="module">');
  assert.doesNotMatch(markup, /\ssrc=|@import|url\(|<a\s|\son\w+=|\sstyle=/);
  assert.doesNotMatch(html, /^import /m);
  const links = [...markup.matchAll(/href="([^"]*)"/g)].map(([, to]) => to);
  assert.equal(links.length, 1);
  assert.match(links[0] ?? "", /^data:/);
});

Deno.test("the page may not be framed, sniffed or kept without asking again, and tells no other site where it was", () => {
  const headers = Object.fromEntries(answer.headers);
  delete headers["content-security-policy"];
  assert.deepEqual(headers, {
    "content-type": "text/html; charset=utf-8",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
  });
});
