import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import type { JsonObject } from "../../src/core/json.ts";
import type { Protocol } from "../../src/core/protocol.ts";
import { CODECS } from "../../src/protocols/mod.ts";
import { translateRequest } from "../../src/protocols/translate_request.ts";
import { hello } from "../support/ask.ts";
import { type Feature, FEATURES } from "../support/features.ts";
import { type Pair, PAIRS } from "../support/pairs.ts";

// What becomes of everything that a request may hold, in every pair; the README's table must say the same.

const NAMES: Readonly<Record<Protocol, string>> = {
  chat: "Chat",
  messages: "Messages",
  responses: "Responses",
};

/** A provider of each protocol that the table speaks of. */
const TARGETS: Readonly<
  Record<Protocol, { readonly service: string; readonly model: string }>
> = {
  chat: { service: "custom", model: "some-model" },
  messages: { service: "anthropic", model: "claude-sonnet-4-6" },
  responses: { service: "openai", model: "gpt-4.1" },
};

Deno.test("the README's table of translations says what the codecs do", async () => {
  const readme = await Deno.readTextFile(
    new URL("../../README.md", import.meta.url),
  );
  const [, table = ""] = readme.match(TABLE_REGEXP) ?? [];
  assert.deepEqual(cells(table), rows());
});

Deno.test("no feature of a request that changes an answer is lost in silence", () => {
  for (const feature of FEATURES) {
    if (feature.harmless !== undefined) continue;
    for (const pair of PAIRS) {
      const { from, to } = pair;
      assert.notEqual(
        outcome(feature, pair),
        LEFT_OUT,
        `${feature.name}, ${from} to ${to}`,
      );
    }
  }
});

const TABLE_REGEXP = /^(\| a request's[^]*?)\n\n/m;

/** Not there, and nobody was told. */
const LEFT_OUT = "left out";

/** The lines of a table of Markdown, without the rule below the headings. */
function cells(table: string): string[][] {
  return table.split("\n").filter((line) => !/^\| -/.test(line)).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

function rows(): string[][] {
  const heading = PAIRS.map(({ from, to }) => `${NAMES[from]} → ${NAMES[to]}`);
  return [
    ["a request's", ...heading],
    ...FEATURES.map((feature) => [
      feature.name,
      ...PAIRS.map((pair) => outcome(feature, pair)),
    ]),
  ];
}

function outcome({ asked, found }: Feature, { from, to }: Pair): string {
  const fields = asked[from];
  if (fields === undefined) return "–";
  try {
    const { body, dropped } = translate(JSON.parse(hello(from, fields)), {
      from,
      to,
    });
    if (dropped.size > 0) {
      return `dropped: ${[...dropped].map((name) => `\`${name}\``).join(", ")}`;
    }
    return found(CODECS[to].decodeRequest(body)) ?? LEFT_OUT;
  } catch (error) {
    if (error instanceof GatewayError) return "400";
    throw error;
  }
}

function translate(
  body: JsonObject,
  { from, to }: { readonly from: Protocol; readonly to: Protocol },
) {
  return translateRequest(body, {
    from: CODECS[from],
    to: CODECS[to],
    target: {
      ...TARGETS[to],
      connectionId: "connection-1",
      maxOutputTokens: undefined,
    },
    strict: false,
    streamOnly: false,
    force: {},
    omit: [],
  });
}
