import assert from "node:assert/strict";
import { byteText } from "../../../src/streams/bytes.ts";
import { createRandom, type Random } from "../../support/fakes/random.ts";
import { needing } from "../../support/ignored.ts";
import { loadExchanges } from "../../support/recorded/exchanges.ts";
import { examine } from "./examine.ts";

const recordings = await loadExchanges();

/** The ways in which a provider may send a body. */
const FRAMES: Readonly<
  Record<string, (body: string, random: Random) => string>
> = {
  "with its length": (body) => `content-length: ${body.length}\r\n\r\n${body}`,
  "in chunks": (body, random) =>
    `transfer-encoding: chunked\r\n\r\n${inChunks(body, random)}0\r\n\r\n`,
  "up to the end of the connection": (body) =>
    `connection: close\r\n\r\n${body}`,
};

function inChunks(body: string, random: Random): string {
  return cut(body, random).map((chunk) =>
    `${chunk.length.toString(16)}\r\n${chunk}\r\n`
  ).join("");
}

/** Cuts a text into a few hundred pieces at most, some of them single bytes. */
function cut(text: string, random: Random): string[] {
  const pieces: string[] = [];
  const most = Math.max(2, Math.ceil(text.length / 100));
  for (let start = 0; start < text.length;) {
    const end = start + 1 + random.below(random.pick([1, most]));
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

Deno.test({
  ...needing(
    "every recorded answer passes byte for byte, however it is framed and cut",
    recordings.length === 0 && "../shared/recordings is not there",
  ),
  async fn() {
    const random = createRandom(25);
    for (const { name, status, contentType, answer } of recordings) {
      const body = byteText(answer);
      for (const [frame, write] of Object.entries(FRAMES)) {
        const text = `HTTP/1.1 ${status} x\r\ncontent-type: ${contentType}\r\n${
          write(body, random)
        }`;
        const verdict = await examine(cut(text, random));
        assert.ok(typeof verdict !== "string", `${name} ${frame}: ${verdict}`);
        assert.equal(verdict.status, status);
        assert.ok(verdict.body === body, `${name} ${frame} has other bytes`);
      }
    }
  },
});
