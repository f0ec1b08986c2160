import assert from "node:assert/strict";
import { createFetchClient } from "../../../src/upstream/fetch_client.ts";
import { say, startRawUpstream } from "../../support/upstream/raw_upstream.ts";
import { within } from "../../support/within.ts";
import { bodyOf, examine } from "./examine.ts";
import { ODD_RESPONSES, type Verdict } from "./odd_responses.ts";

Deno.test("every odd response has the verdict of the table, whole, byte by byte and cut at every byte", async (t) => {
  for (const [name, { text, verdict }] of ODD_RESPONSES) {
    await t.step(name, async () => {
      assert.deepEqual(await examine([text]), verdict, "whole");
      assert.deepEqual(await examine(text), verdict, "byte by byte");
      for (let at = 1; at < text.length; at++) {
        const pieces = [text.slice(0, at), text.slice(at)];
        assert.deepEqual(await examine(pieces), verdict, `cut at ${at}`);
      }
    });
  }
});

/** Malformed responses that `fetch` reads nevertheless; it is for proxies that our client does not speak to. */
const READ_BY_FETCH: ReadonlySet<string> = new Set([
  "an empty line in front",
  "another protocol that is switched to",
  "nine interim responses",
  "LF for line ends",
  "one bare LF",
  "a bare LF at the end of the head",
  "two equal lengths",
  "a list of equal lengths",
  "two lengths of a 204",
  "a length beside chunks",
  "chunks beside a length",
  "gzip and chunks",
  "chunks that are not last",
  "chunks twice",
  "chunks in two fields",
  "identity",
  "an empty transfer-encoding",
  "chunks with parameters",
  "almost chunks",
  "a NUL in an extension",
]);

Deno.test("fetch reads every odd response that our client reads, and no other but those that it is known for", async (t) => {
  const client = createFetchClient((url, init) => fetch(url, init));
  let text = "";
  await using upstream = startRawUpstream((connection) =>
    say(connection, text)
  );
  const ask = async (): Promise<Verdict | undefined> => {
    const { signal } = new AbortController();
    const request = { url: upstream.url, headers: [], connectMs: 0, signal };
    try {
      const response = await client.send(request);
      return { status: response.status, body: await bodyOf(response) };
    } catch {
      return undefined;
    }
  };
  for (const [name, odd] of ODD_RESPONSES) {
    await t.step(name, async () => {
      text = odd.text;
      const verdict = await within(ask(), "the verdict of fetch");
      const isRead = typeof odd.verdict !== "string";
      if (isRead) assert.deepEqual(verdict, odd.verdict);
      else assert.equal(verdict !== undefined, READ_BY_FETCH.has(name));
    });
  }
});
