import { Upload } from "../../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { equal, throws } from "node:assert/strict";
import {
  bodyBytes,
  type HeldBody,
  keepBody,
  nativeBody,
  spliceBytes,
} from "../../../../src/gateway/relay/request/held_body.ts";
import { LongBytes } from "../../../../src/base/streams/bytes.ts";
import { createRequestHeadReader } from "../../../../src/gateway/relay/request/request_head.ts";
import type { Failure } from "../../../../src/codecs/canonical/failure/failure.ts";
import { reasonOfRefusedBetas } from "../../../../src/gateway/relay/native/refused_betas.ts";

const encoder = new TextEncoder();

/** Returns a body of at least `size` bytes, with the model in the middle. */
function bodyOf(size: number): Uint8Array<ArrayBuffer> {
  const text = '{"x":1.50 ,"model" : "glm" ,"y":"é\\u00e9"}';
  const spaces = size - encoder.encode(text).length;
  return encoder.encode(text + " ".repeat(Math.max(0, spaces)));
}

/** Returns the body as two chunks that split the model's name. */
function holdBody(bytes: Uint8Array<ArrayBuffer>): HeldBody {
  if (bytes.length <= 256 * 1024) return bytes;
  return new LongBytes([bytes.slice(0, 23), bytes.slice(23)]);
}

/** Returns the text of the upstream body, and the kind of object that holds it. */
async function sent(
  body: HeldBody,
  renamedTo: string | undefined,
): Promise<{ readonly kind: string; readonly text: string }> {
  const reader = createRequestHeadReader({ operation: "chat_completions" });
  reader.push(await bodyBytes(body));
  const span = reader.end().modelMember?.span;
  assert.ok(span);
  const kept = keepBody(body, () => {});
  const text = renamedTo === undefined ? undefined : JSON.stringify(renamedTo);
  const built = nativeBody(kept, text === undefined ? [] : [{ span, text }]);
  return {
    kind: built.constructor.name,
    text: new TextDecoder().decode(bytesOf(built)),
  };
}

function bytesOf(built: Uint8Array | Upload): Uint8Array {
  return built instanceof Upload ? built.body.join() : built;
}

const SIZES = [
  [0, "Uint8Array"],
  [256 * 1024, "Uint8Array"],
  [256 * 1024 + 1, "Upload"],
] as const;

Deno.test("nativeBody() returns the caller's bytes when the model keeps its name", async () => {
  for (const [size, kind] of SIZES) {
    const body = bodyOf(size);
    const text = new TextDecoder().decode(body);
    assert.deepEqual(await sent(holdBody(body), undefined), { kind, text });
  }
});

Deno.test("nativeBody() replaces the model's name and nothing else", async () => {
  for (const [size, kind] of SIZES) {
    for (const name of ["m", "a-longer-name", 'é"\\', ""]) {
      const body = bodyOf(size);
      const text = new TextDecoder().decode(body)
        .replace('"glm"', () => JSON.stringify(name));
      assert.deepEqual(await sent(holdBody(body), name), { kind, text });
    }
  }
});

Deno.test("nativeBody() does not change the caller's bytes", async () => {
  for (const [size] of SIZES) {
    const body = holdBody(bodyOf(size));
    await sent(body, "another");
    assert.deepEqual(await bodyBytes(body), bodyOf(size));
  }
});

Deno.test("nativeBody() lets the upload of a long body continue after the body's release", () => {
  for (const renamedTo of [undefined, "another"]) {
    const kept = keepBody(holdBody(bodyOf(300_000)), () => {});
    const span = { start: 21, end: 26 };
    const edits = renamedTo === undefined
      ? []
      : [{ span, text: JSON.stringify(renamedTo) }];
    const upload = nativeBody(kept, edits);
    assert.ok(upload instanceof Upload);
    kept.release();
    assert.equal(bytesOf(upload).length, upload.body.length);
    upload.end();
    assert.throws(() => bytesOf(upload));
  }
});

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Splices a text in pieces of these lengths. */
function spliced(
  text: string,
  lengths: readonly number[],
  edits: readonly (readonly [start: number, end: number, put: string])[],
): string {
  let start = 0;
  const pieces = lengths.map((length) => {
    start += length;
    return encode(`--${text.slice(start - length, start)}--`)
      .subarray(2, 2 + length);
  });
  const changed = spliceBytes(
    pieces,
    edits.map(([start, end, text]) => ({ span: { start, end }, text })),
  );
  equal(pieces.map(decode).join(""), text);
  return changed.map(decode).join("");
}

/** Every way to cut six bytes into pieces. */
const CUTS = Array.from({ length: 32 }, (_, cut) => {
  const ends = [1, 2, 3, 4, 5].filter((end) => cut & (1 << (end - 1)));
  return [...ends, 6].map((end, index) => end - (ends[index - 1] ?? 0));
});

Deno.test("spliceBytes() replaces each span with its text, whatever the chunk size", async (t) => {
  const cases: Record<string, [start: number, end: number, put: string][]> = {
    "abXYef": [[2, 4, "XY"]],
    "ablongeref": [[2, 4, "longer"]],
    "abef": [[2, 4, ""]],
    "abXcdef": [[2, 2, "X"]],
    "Xbcdef": [[0, 1, "X"]],
    "abcdeX": [[5, 6, "X"]],
    "abcdefX": [[6, 6, "X"]],
    "": [[0, 6, ""]],
    "XcYeZ": [[5, 6, "Z"], [0, 2, "X"], [3, 4, "Y"]],
    "af": [[1, 3, ""], [3, 5, ""]],
  };
  for (const [result, edits] of Object.entries(cases)) {
    await t.step(JSON.stringify(edits), () => {
      for (const lengths of CUTS) {
        equal(spliced("abcdef", lengths, edits), result, lengths.join());
      }
    });
  }
});

Deno.test("spliceBytes() takes one pass for any number of edits", () => {
  // A copy of the bytes for each edit would take minutes.
  const length = 1 << 20;
  const edits = Array.from(
    { length: length / 2 },
    (_, index) => [2 * index, 2 * index + 1, ""] as const,
  );
  equal(spliced("ab".repeat(length / 2), [length], edits).length, length / 2);
});

Deno.test("spliceBytes() rejects a span that exceeds the bytes or overlaps another span", () => {
  const bad: (readonly (readonly [number, number, string])[])[] = [
    ...[[[-1, 2, ""]], [[3, 2, ""]], [[2, 7, ""]], [[7, 7, ""]]] as const,
    [[1, 4, ""], [3, 5, ""]],
  ];
  for (const edits of bad) {
    throws(() => spliced("abcdef", [3, 3], edits), RangeError);
  }
});

const SENT =
  "claude-code-20250219,context-management-2025-06-27, oauth-2025-04-20,effort-2025-11-24";

function reason(
  message: string,
  options: {
    kind?: Failure["kind"];
    sent?: string;
    dropped?: string[] | undefined;
  } = {},
) {
  const { kind = "invalid_request", sent = SENT, dropped } = options;
  return reasonOfRefusedBetas(
    { kind, message },
    [["accept", "*/*"], ["anthropic-beta", sent]],
    { headersDrop: dropped === undefined ? {} : { "anthropic-beta": dropped } },
  );
}

const VERTEX =
  "Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header. Please consult our documentation or try again without the header.";

/** Refusals of cloud providers, the betas that the connection already leaves out, and the reason in the log. */
const REFUSALS: readonly (readonly [
  message: string,
  reason: string,
  dropped?: string[],
])[] = [
  // https://github.com/anthropics/claude-code/issues/34802
  [
    VERTEX,
    "the provider refuses a beta; add to its connection headers_drop: { anthropic-beta: [effort-2025-11-24] }",
  ],
  [
    VERTEX,
    "the provider refuses a beta; add to its connection headers_drop: { anthropic-beta: [fast-mode-2026-02-01, effort-2025-11-24] }",
    ["fast-mode-2026-02-01"],
  ],
  // https://github.com/anthropics/claude-code/issues/49370
  [
    "invalid beta flag",
    "the provider refuses a beta without naming it; add to its connection headers_drop: { anthropic-beta: [claude-code-20250219, context-management-2025-06-27, oauth-2025-04-20, effort-2025-11-24] }, without the betas that it knows",
  ],
  // https://github.com/Wei-Shaw/sub2api/issues/2726
  [
    "context_management: Extra inputs are not permitted",
    "the provider refuses a field of the beta context-management-2025-06-27; remove this beta from headers_drop of its connection",
    ["context-management-2025-06-27"],
  ],
  [
    "output_config.effort: Extra inputs are not permitted",
    "the provider refuses a field of the beta effort-2025-11-24; headers_drop: { anthropic-beta: [effort-2025-11-24] } drops the beta, but only the client can drop the field",
  ],
];

for (const [message, wanted, dropped] of REFUSALS) {
  Deno.test(`the log suggests a setting after "${message.slice(0, 50)}"${dropped ? ", beside others" : ""}`, () => {
    assert.equal(reason(message, { dropped }), wanted);
  });
}

Deno.test("the log suggests no setting for other failures, fields without a beta or unsafe values", () => {
  assert.equal(reason("max_tokens: Extra inputs are not permitted"), undefined);
  assert.equal(reason("messages: roles must alternate"), undefined);
  assert.equal(reason("invalid beta flag", { kind: "server" }), undefined);
  assert.equal(reason("invalid beta flag", { sent: "" }), undefined);
  assert.equal(
    reason("invalid beta flag", { sent: "A secret, {x}" }),
    undefined,
  );
});
