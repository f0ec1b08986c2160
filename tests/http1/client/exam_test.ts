import assert from "node:assert/strict";
import { examine } from "./examine.ts";
import { ODD_RESPONSES, type Verdict } from "./odd_responses.ts";
import { bytesOf, byteText } from "../../../src/base/streams/bytes.ts";
import { createRandom, type Random } from "../../support/fakes/random.ts";
import { testNeeding } from "../../support/ignored.ts";
import { damageBytes } from "../../support/wire/damage.ts";
import { findNode, readByLlhttp } from "./llhttp.ts";
import { loadExchanges } from "../../support/recorded/exchanges.ts";
import { steps } from "../../support/steps.ts";

Deno.test("every odd response has the table's verdict, whether it arrives whole, byte by byte or in two pieces", (t) =>
  steps(t, ODD_RESPONSES, async ([, { text, verdict }]) => {
    assert.deepEqual(await examine([text]), verdict, "whole");
    assert.deepEqual(await examine(text), verdict, "byte by byte");
    for (let at = 1; at < text.length; at++) {
      const pieces = [text.slice(0, at), text.slice(at)];
      assert.deepEqual(await examine(pieces), verdict, `cut at ${at}`);
    }
  }));

const hasNode = await findNode();
const LACKS = hasNode === undefined && "there is no Node with its parser here";

/**
 * The responses that we accept although llhttp 9 refuses them: the reason and the form of each. There may be no
 * others.
 */
const BEYOND: Readonly<Record<string, RegExp>> = {
  "RFC 9110, section 5.5: spaces and tabs around any value mean nothing; llhttp takes no tabs around a length":
    /\r\ncontent-length:[\t ]*(\t[\t ]*\d|\d+[\t ]*\t)/i,
  "RFC 9112, section 7.1.1: there may be spaces before an extension, and servers pad sizes with them; fetch reads them, too":
    /\r\n[\da-f]+[\t ]+(;|\r\n)/i,
  "RFC 9110, section 6.5: we leave trailers out unread; llhttp takes them for the fields of the head":
    /\r\n0+[\t ]*(;[^\r]*)?\r\n([^\r]+\r\n)*(content-length|transfer-encoding|connection|upgrade)[^\r]*\r\n/i,
  "RFC 9110, section 15.2: another response follows an interim one, whatever its fields; llhttp ends at its close":
    /^HTTP\/1\.[01] 1\d\d[^\r]*\r\n([^\r]+\r\n)*connection:[^\r]*close/i,
  "RFC 9112, section 7.1.1: we leave extensions out unread; llhttp looks into them":
    /\r\n[\da-f]+[\t ]*;[^\r]*\r\n/i,
};

/** Returns true when we read no body, or llhttp read the same one. */
function agrees(ours: Verdict, theirs: Verdict | undefined): boolean {
  if (typeof ours === "string" || ours.body === "") return true;
  if (theirs === undefined || typeof theirs === "string") return false;
  return ours.status === theirs.status && ours.body === theirs.body;
}

function isBeyond(text: string, theirs: Verdict | undefined): boolean {
  return theirs === undefined &&
    Object.values(BEYOND).some((form) => form.test(text));
}

testNeeding(
  "every body that we accept equals the one that llhttp reads",
  LACKS,
  async () => {
    const rows = [...ODD_RESPONSES];
    const theirs = await readByLlhttp(rows.map(([, { text }]) => text));
    const different = rows.filter(([, { text, verdict }], at) =>
      !agrees(verdict, theirs[at]) && !isBeyond(text, theirs[at])
    ).map(([name]) => name);
    assert.deepEqual(different, []);
  },
);

/** Fragments that have a meaning for a parser. */
const FRAGMENTS: readonly string[] = [
  "\r",
  "\n",
  "\r\n",
  "\r\n\r\n",
  " ",
  "\t",
  ":",
  ";",
  ",",
  "0",
  "5",
  "f",
  "-",
  "\x00",
  "\x7f",
  "\x80",
  "HTTP/1.1 200 OK\r\n",
  "HTTP/1.0 200 OK\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "content-length: 5\r\n",
  "Content-Length: 3\r\n",
  "transfer-encoding: chunked\r\n",
  "connection: close\r\n",
  "chunked",
  "identity",
  "0\r\n\r\n",
  "5\r\nhello\r\n",
  "a: b\r\n",
];

const VALID: readonly string[] = [...ODD_RESPONSES.values()]
  .filter(({ verdict }) => typeof verdict !== "string")
  .map(({ text }) => text);

/** Returns a valid response with faults: damaged bytes, or fragments in wrong places. */
function mutant(random: Random): string {
  const text = random.pick(VALID);
  if (random.below(3) === 0) {
    return byteText(damageBytes(bytesOf(text), random));
  }
  let mutated = text;
  for (let fault = 0; fault <= random.below(3); fault++) {
    const from = random.below(mutated.length + 1);
    const to = from + random.pick([0, 0, 1, 2, 5]);
    mutated = mutated.slice(0, from) + random.pick(FRAGMENTS) +
      mutated.slice(to);
  }
  return mutated;
}

/** Cuts a text at random positions. */
function cut(text: string, random: Random): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = start + 1 + random.below(random.pick([2, 8, 40]));
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

const SEED = Number(Deno.env.get("HTTP1_SEED") ?? 1);
const COUNT = Number(Deno.env.get("HTTP1_MUTANTS") ?? 3000);

Deno.test("a damaged response has the same verdict in any pieces", async () => {
  const random = createRandom(SEED);
  for (let count = 0; count < COUNT; count++) {
    const text = mutant(random);
    const whole = await examine([text]);
    assert.deepEqual(await examine(cut(text, random)), whole, text);
  }
});

testNeeding(
  "every accepted body of a damaged response equals the one that llhttp reads",
  LACKS,
  async () => {
    const random = createRandom(SEED);
    const texts = Array.from({ length: COUNT }, () => mutant(random));
    const theirs = await readByLlhttp(texts);
    const different: unknown[] = [];
    let accepted = 0;
    for (const [at, text] of texts.entries()) {
      const ours = await examine([text]);
      if (typeof ours !== "string" && ours.body !== "") accepted++;
      if (agrees(ours, theirs[at]) || isBeyond(text, theirs[at])) continue;
      different.push({ text, ours, theirs: theirs[at] });
    }
    assert.deepEqual(different, []);
    assert.ok(accepted > COUNT / 10, `${accepted} of ${COUNT}`);
  },
);

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
  return cutRecordings(body, random).map((chunk) =>
    `${chunk.length.toString(16)}\r\n${chunk}\r\n`
  ).join("");
}

/** Cuts a text into a few hundred pieces at most, some of them single bytes. */
function cutRecordings(text: string, random: Random): string[] {
  const pieces: string[] = [];
  const most = Math.max(2, Math.ceil(text.length / 100));
  for (let start = 0; start < text.length;) {
    const end = start + 1 + random.below(random.pick([1, most]));
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

testNeeding(
  "every recorded answer is read byte for byte, with any framing and division",
  recordings.length === 0 && "../shared/recordings is not there",
  async () => {
    const random = createRandom(25);
    for (const { name, status, contentType, answer } of recordings) {
      const body = byteText(answer);
      for (const [frame, write] of Object.entries(FRAMES)) {
        const text = `HTTP/1.1 ${status} x\r\ncontent-type: ${contentType}\r\n${
          write(body, random)
        }`;
        const verdict = await examine(cutRecordings(text, random));
        assert.ok(typeof verdict !== "string", `${name} ${frame}: ${verdict}`);
        assert.equal(verdict.status, status);
        assert.ok(verdict.body === body, `${name} ${frame} has other bytes`);
      }
    }
  },
);
