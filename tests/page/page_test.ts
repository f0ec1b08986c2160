import assert from "node:assert/strict";
import { PAGE_PATHS, pageResponse } from "../../src/page/page.ts";
import { VERSION } from "../../src/base/version.ts";
import { steps } from "../support/steps.ts";

const answer = await pageResponse("/");
const html = await answer.text();
const policy = new Map(
  (answer.headers.get("content-security-policy") ?? "").split("; ").map(
    (directive): [string, string] => {
      const [name = "", ...values] = directive.split(" ");
      return [name, values.join(" ")];
    },
  ),
);

Deno.test("the page's policy allows its own script and style, requests to the gateway, and nothing else", () => {
  assert.deepEqual(Object.fromEntries(policy), {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "data:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
  });
});

Deno.test("the page's markup loads only the page's files, and has no script, handler or style", () => {
  const [markup = "", rest] = html.split(
    '<script type="module" src="page/main.js"></script>',
  );
  assert.ok(rest !== undefined);
  assert.doesNotMatch(
    markup + rest,
    /\ssrc=|@import|url\(|<a\s(?!href="#)|<script|<style|\son\w+=|\sstyle=/,
  );
  const links = [...html.matchAll(/href="([^"]*)"/g)].map(([, to]) => to);
  assert.match(links[0] ?? "", /^data:/);
  assert.deepEqual(links.slice(1), ["page/page.css", "#models-and-settings"]);
  assert.match(html, / id="models-and-settings"/);
});

Deno.test("the page names the version of the gateway that serves it", () => {
  assert.match(html, new RegExp(`Model Gateway ${RegExp.escape(VERSION)}<`));
  assert.ok(!html.includes("%VERSION%"));
});

Deno.test("every file of the page is served unchanged, with its media type", async (t) => {
  let count = 1;
  for (const [room, name] of [["page", "browser"], ["wording", "wording"]]) {
    const folder = new URL(`../../src/page/${name}/`, import.meta.url);
    for await (const { name } of Deno.readDir(folder)) {
      if (!/\.(js|css)$/.test(name)) continue;
      count += 1;
      await t.step(name, async () => {
        const path = `/${room}/${name}`;
        assert.ok(PAGE_PATHS.includes(path));
        const file = await pageResponse(path);
        assert.equal(
          await file.text(),
          await Deno.readTextFile(new URL(name, folder)),
        );
        assert.equal(
          file.headers.get("content-type"),
          `text/${name.endsWith(".js") ? "javascript" : "css"}; charset=utf-8`,
        );
      });
    }
  }
  assert.equal(count, PAGE_PATHS.length);
});

Deno.test("the page's modules import only each other", (t) =>
  steps(t, PAGE_PATHS.filter((path) => path.endsWith(".js")), async (path) => {
    const text = await (await pageResponse(path)).text();
    for (const [, from = ""] of text.matchAll(/^import .* "(.*)";$/gm)) {
      assert.ok(
        PAGE_PATHS.includes(new URL(from, `http://gateway${path}`).pathname),
      );
    }
  }));

Deno.test("the page forbids frames, sniffing and unchecked caching, and sends no referrer", () => {
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
