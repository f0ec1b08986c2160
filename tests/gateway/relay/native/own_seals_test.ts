import assert from "node:assert/strict";
import { createGateway } from "../../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../../src/gateway/config/live_config.ts";
import { type Operation, OPERATIONS } from "../../../../src/base/protocol.ts";
import {
  type Sealed,
  wrapSealed,
} from "../../../../src/codecs/canonical/content/sealed.ts";
import { bodyBytes } from "../../../../src/gateway/relay/request/held_body.ts";
import { createRandom, type Random } from "../../../support/fakes/random.ts";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
} from "../../../support/gateway/config.ts";
import { createLogLines } from "../../../support/gateway/log_lines.ts";
import { steps } from "../../../support/steps.ts";
import { turnsDuring } from "../../../support/turns_during.ts";

const ID = "00000000-0000-4000-8000-000000000001";

/** Opens a gateway with one connection that serves every path natively. */
async function openScene(overrides: Readonly<Record<string, unknown>> = {}) {
  const url = "http://provider.example/v1";
  const connection = connectionFile({
    id: ID,
    endpoints: { chat: url, messages: url, responses: url },
    models: [{ id: "model-a", upstream: "claude-sonnet-4-5" }],
    ...overrides,
  });
  const config = await loadFile(minimalFile({ connections: [connection] }));
  const sent: string[] = [];
  const lines = createLogLines();
  const { handler } = createGateway({
    liveConfig: createLiveConfig(configOf(config)),
    log: lines.log,
    fetch: () => assert.fail("The client sends all requests"),
    client: {
      async send({ body }) {
        const bytes = await bodyBytes(body ?? new Uint8Array());
        sent.push(new TextDecoder().decode(bytes));
        return { status: 200, headers: new Map(), body: null };
      },
    },
  });
  /** Sends a body in chunks that end at `cuts`. */
  async function forward(
    operation: Operation,
    body: string,
    cuts: readonly number[] = [],
  ) {
    const response = await handler(
      new Request(`http://gateway/v1${OPERATIONS[operation].path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${ALICE_TOKEN}`,
          "anthropic-version": "2023-06-01",
          "content-type": "application/json",
        },
        body: inChunks(new TextEncoder().encode(body), cuts),
      }),
    );
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const line = await lines.of(response);
    const { headers } = response;
    return { text: sent.pop() ?? "", line, headers };
  }
  return { forward };
}

function inChunks(bytes: Uint8Array<ArrayBuffer>, cuts: readonly number[]) {
  const ends = [...cuts, bytes.length];
  let start = 0;
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const end = ends.shift();
      if (end === undefined) return controller.close();
      if (end > start) controller.enqueue(bytes.slice(start, end));
      start = Math.max(start, end);
    },
  });
}

const SEALED: Sealed = {
  protocol: "chat",
  form: "reasoning_details",
  value: "[]",
  origin: ID,
};
const OTHER = wrapSealed(SEALED);
const EMPTY = wrapSealed();

const seal = (sealed: Partial<Sealed>) => wrapSealed({ ...SEALED, ...sealed });
const OWN = {
  messages: { protocol: "messages", form: "signature", value: 'a"b/+=' },
  responses: {
    protocol: "responses",
    form: "encrypted_content",
    value: "gAAAA=",
  },
} as const;

const thinking = (signature: string) =>
  `{ "type":"thinking","thinking":"mg1. \\u00e9", "signature": "${signature}" }`;
const redacted = (data: string) =>
  `{"data":"${data}","type":"redacted_thinking"}`;
const said = (...blocks: readonly string[]) =>
  `{"role":"assistant","content":[${blocks.join(" , ")}]}`;
const TEXT = '{"type":"text","text":"mg1.Hi"}';
const USER = '{"role":"user","content":"mg1.x"}';
const NOTHING =
  '{"role":"assistant","content":[{"type":"text","text":"(no content)"}]}';

type Case = readonly [name: string, before: string, after: string];

/** The messages of a request, and what the provider gets. */
const MESSAGES: readonly Case[] = [
  [
    "another provider's thinking is left out, with the comma after it",
    `${USER},${said(thinking(OTHER), TEXT)}, ${USER}`,
    `${USER},${said(TEXT)}, ${USER}`,
  ],
  [
    "a block in the middle and one at the end, with the comma before it",
    `${USER},${said(TEXT, thinking(EMPTY), TEXT, redacted(OTHER))}, ${USER}`,
    `${USER},{"role":"assistant","content":[${TEXT} , ${TEXT}]}, ${USER}`,
  ],
  [
    "several blocks from the beginning on",
    `${USER},${said(thinking(OTHER), redacted(EMPTY), TEXT)},${USER}`,
    `${USER},${said(TEXT)},${USER}`,
  ],
  [
    "damaged envelopes, and a mark in escapes",
    `${USER},${
      said(
        thinking("mg1.%%"),
        thinking("\\u006d\\u00671\\u002E"),
        thinking("mg\\u0031\\u002e"),
        TEXT,
      )
    }`,
    `${USER},${said(TEXT)}`,
  ],
  [
    "duplicate types or seals, since a parser may use either",
    `${
      said(
        '{"type":"text","type":"thinking","signature":"mg1."}',
        '{"type":"thinking","signature":"x","signature":"mg1."}',
        '{"type":"thinking","signature":"mg1.","signature":"x"}',
        TEXT,
      )
    }`,
    said(TEXT),
  ],
  [
    "an emptied message between two of the user keeps its place",
    `${USER},${said(thinking(OTHER))},${USER},${
      said(redacted(OTHER), thinking(EMPTY))
    } ,${USER}`,
    `${USER},${NOTHING},${USER},${NOTHING} ,${USER}`,
  ],
  [
    "a message with only blank text left",
    `${USER},${
      said(thinking(OTHER), '{"type":"text","text":" \\n\\u0020"}')
    },${USER}`,
    `${USER},${NOTHING},${USER}`,
  ],
  [
    "an emptied last message is left out",
    `${USER} , ${said(thinking(OTHER))}`,
    USER,
  ],
  ["an emptied first message", said(thinking(OTHER)), NOTHING],
  [
    "the seal of this connection is unwrapped",
    `${USER},${said(thinking(seal(OWN.messages)), TEXT)}`,
    `${USER},${said(thinking('a\\"b/+='), TEXT)}`,
  ],
  [
    "redacted thinking of this connection, and of another one",
    `${
      said(
        redacted(seal({ ...OWN.messages, form: "redacted", value: "r" })),
        redacted(seal({ ...OWN.messages, form: "redacted", origin: "x" })),
      )
    }`,
    said(redacted("r")),
  ],
  [
    "another connection's thinking of the same protocol is left out",
    said(thinking(seal({ ...OWN.messages, origin: "other" })), TEXT),
    said(TEXT),
  ],
];

/** Messages and items that pass unchanged. */
const UNTOUCHED: Readonly<Record<string, string>> = {
  "the provider's own seal": `${USER},${
    said(thinking("EqMB=="), redacted("xmg1."), TEXT)
  }`,
  "the mark in texts, names and tools":
    `{"role":"user","content":[{"type":"text","text":"mg1.","signature":"mg1."},{"type":"tool_result","tool_use_id":"mg1.","content":[${
      thinking(OTHER)
    }]}]},${
      said(
        '{"type":"tool_use","id":"mg1.a","name":"n","input":{"type":"thinking","signature":"mg1.","data":"mg1."}}',
      )
    }`,
  "thinking without a seal": `${
    said(
      '{"type":"thinking","thinking":"mg1."}',
      '{"type":"thinking","signature":{"a":"mg1."}}',
      '{"type":"thinking","signature":["mg1."]}',
    )
  }`,
  "similar beginnings": said(
    thinking("mg1"),
    thinking("mg1,a"),
    thinking("Mg1.a"),
    thinking("mg1\\\\.a"),
    thinking("\\\\u006dg1."),
  ),
};

const body = (field: string, list: string) =>
  `{"${field}" : [${list}],"x":{"messages":[{"content":[${
    thinking(OTHER)
  }]}],"input":[{"type":"reasoning","encrypted_content":"mg1."}]},"model":"model-a" }`;
const renamed = (text: string) =>
  text.replace('"model-a"', '"claude-sonnet-4-5"');

Deno.test("a native Messages request reaches its provider byte for byte, except for the gateway's seals", async (t) => {
  const { forward } = await openScene();
  await steps(t, MESSAGES, async ([_, before, after]) => {
    for (const operation of ["messages", "count_tokens"] as const) {
      const { text, line, headers } = await forward(
        operation,
        body("messages", before),
      );
      assert.equal(text, renamed(body("messages", after)));
      const isLost = !before.includes(seal(OWN.messages));
      assert.deepEqual(line.dropped, isLost ? ["signature"] : undefined);
      assert.equal(
        headers.get("x-gateway-dropped"),
        isLost ? "signature" : null,
      );
    }
  });
  await steps(t, Object.keys(UNTOUCHED), async (name) => {
    const whole = body("messages", UNTOUCHED[name] ?? "");
    const { text, line } = await forward("messages", whole);
    assert.equal(text, renamed(whole));
    assert.equal(line.dropped, undefined);
  });
});

const item = (encrypted: string, more = "") =>
  `{"type":"reasoning",${more}"summary":[{"type":"summary_text","text":"mg1."}],"encrypted_content":"${encrypted}"}`;
const CALL = '{"type":"function_call","arguments":"{}","call_id":"mg1.c"}';
const compaction = (encrypted: string) =>
  `{"id":"cmp_1","type":"compaction","encrypted_content":"${encrypted}"}`;

/** The items of a request, and what the provider gets. */
const ITEMS: readonly Case[] = [
  [
    "another provider's reasoning is left out",
    `${USER}, ${item(OTHER)} ,${CALL},${item(EMPTY)}`,
    `${USER} ,${CALL}`,
  ],
  [
    "items from the beginning on",
    ` ${item(OTHER)},${item("mg1\\u002e")} , ${USER}`,
    ` ${USER}`,
  ],
  [
    "the seal of this connection is unwrapped, with the issuer's id",
    `${USER},${item(seal({ ...OWN.responses, id: "rs_1" }), '"id":"rs_0",')},${
      item(seal({ ...OWN.responses, id: "rs_2" }))
    },${item(seal(OWN.responses), '"id":"rs_3",')}`,
    `${USER},${item("gAAAA=", '"id":"rs_1",')},${item('gAAAA=","id":"rs_2')},${
      item("gAAAA=", '"id":"rs_3",')
    }`,
  ],
  [
    "a summary of the gateway becomes a message",
    `${
      compaction(
        seal({
          protocol: "responses",
          form: "summary",
          value: 'A "b"',
          origin: undefined,
        }),
      )
    },${USER}`,
    `{"type":"message","role":"user","content":[{"type":"input_text","text":"Summary of the conversation so far:\\n\\nA \\"b\\""}]},${USER}`,
  ],
  ["a summary that cannot be read", `${compaction("mg1.A")},${USER}`, USER],
];

Deno.test("a native Responses request reaches its provider byte for byte, except for the gateway's seals", async (t) => {
  const { forward } = await openScene();
  await steps(t, ITEMS, async ([_, before, after]) => {
    for (const operation of ["responses", "compact"] as const) {
      const { text } = await forward(operation, body("input", before));
      assert.equal(text, renamed(body("input", after)));
    }
  });
  const passing = body(
    "input",
    `${item("gAAAA")},${
      compaction("gAAAA")
    },{"type":"message","role":"user","content":[{"type":"input_text","text":"mg1."},${
      item(OTHER)
    }]}`,
  );
  assert.equal((await forward("responses", passing)).text, renamed(passing));
});

Deno.test("an invalid list of items passes unchanged, and a message with a duplicate content is forwarded", async (t) => {
  const { forward } = await openScene();
  const one = item("mg1.A");
  const lists = [
    `5,${one}`,
    `${one}, "x"`,
    `[],${one},${USER}`,
    `[${one}],${USER}`,
    `${USER},[${one}]`,
    `${USER},7,${one}`,
  ];
  await steps(t, lists, async (list) => {
    const whole = body("input", list);
    assert.equal((await forward("responses", whole)).text, renamed(whole));
  });
  const [first, second] = [
    `[${thinking(OTHER)}]`,
    `[${thinking(OTHER)},${TEXT}]`,
  ];
  const two = (last: string) =>
    body("messages", `${USER},{"content":${first},"content":${last}}`);
  const { text } = await forward("messages", two(second));
  assert.equal(text, renamed(two(`[${TEXT}]`)));
});

Deno.test("a native Chat request reaches its provider without the gateway's seals", async () => {
  const { forward } = await openScene();
  const message = (list: string) =>
    `${USER},{"role":"assistant","reasoning_details":[${list}],"content":"mg1."}`;
  const foreign = `{"type":"reasoning.encrypted","data":"${OTHER}","index":0}`;
  const own = '{"type":"reasoning.encrypted","data":"x"}';
  const { text, line } = await forward(
    "chat_completions",
    body("messages", message(`${foreign}, ${own} ,${foreign}`)),
  );
  assert.equal(text, renamed(body("messages", message(`${own}`))));
  assert.deepEqual(line.dropped, ["reasoning_details"]);
});

Deno.test("a model with prefix checks gets no sealed thinking of a translated answer", async () => {
  const models = [{ id: "model-a", upstream: "claude-opus-5-5" }];
  const { forward } = await openScene({ models });
  const bound = { prefix: "p" };
  const before = said(thinking(seal({ ...OWN.messages, bound })), TEXT);
  const { text } = await forward("messages", body("messages", before));
  assert.ok(text.startsWith(`{"messages" : [${said(TEXT)}]`));
  const older = await openScene();
  const kept = await older.forward("messages", body("messages", before));
  assert.ok(kept.text.includes(thinking('a\\"b/+=')));
});

Deno.test("another gateway gets its own seals back", async () => {
  const { forward } = await openScene({ service: "gateway" });
  const whole = body("messages", said(thinking(OTHER), TEXT));
  assert.equal((await forward("messages", whole)).text, renamed(whole));
});

/** Blocks, with the part that the provider gets. */
const BLOCKS = [
  [thinking(OTHER), undefined],
  [redacted("\\u006dg1\\u002e"), undefined],
  [thinking(seal(OWN.messages)), thinking('a\\"b/+=')],
  [thinking("EqMB=="), thinking("EqMB==")],
  [TEXT, TEXT],
  ['{"type":"tool_use","id":"é😀","input":{"signature":"mg1."}}'],
] as const;

/** Returns random messages, and the part that the provider gets. */
function randomMessages(random: Random): readonly [string, string] {
  const [before, after]: string[][] = [[], []];
  for (let count = random.below(5); count >= 0; count--) {
    const blocks = Array.from({ length: random.below(6) + 1 }, () => {
      const [block, left = block] = random.pick(BLOCKS);
      const isCut = block === BLOCKS[0][0] || block === BLOCKS[1][0];
      return [block, isCut ? undefined : left] as const;
    });
    const left = blocks.flatMap(([_, one]) => one ?? []);
    before?.push(USER, `{"content":[${blocks.map(([one]) => one).join(",")}]}`);
    after?.push(
      USER,
      left.length > 0
        ? `{"content":[${left.join(",")}]}`
        : '{"content":[{"type":"text","text":"(no content)"}]}',
    );
  }
  return [`${before?.join(",")},${USER}`, `${after?.join(",")},${USER}`];
}

Deno.test("only seals are removed, whatever the chunk size", async () => {
  const random = createRandom(7);
  const { forward } = await openScene();
  for (let round = 0; round < 60; round++) {
    const [before, after] = randomMessages(random);
    const fill = " ".repeat(round % 3 === 0 ? 70_000 : 0);
    const whole = body("messages", before) + fill;
    const { length } = new TextEncoder().encode(whole);
    const cuts = Array.from(
      { length: random.below(40) },
      () => random.below(length - fill.length),
    ).sort((a, b) => a - b);
    const { text } = await forward("messages", whole, cuts);
    assert.equal(text, renamed(body("messages", after)) + fill);
  }
  const [before, after] = randomMessages(random);
  const whole = body("messages", before);
  const every = Array.from({ length: whole.length * 2 }, (_, at) => at + 1);
  const { text } = await forward("messages", whole, every);
  assert.equal(text, renamed(body("messages", after)));
});

Deno.test("other work continues while the seals of a 30 MiB body are removed", async () => {
  const { forward } = await openScene();
  const pair = `${item(OTHER)},{"type":"message","role":"user","content":"x"},`;
  const count = Math.floor(30 * 2 ** 20 / pair.length);
  const whole = body("input", pair.repeat(count) + USER);
  let text = "";
  const turns = await turnsDuring(
    forward("responses", whole).then((answer) => text = answer.text),
  );
  const left = pair.slice(pair.indexOf("},{") + 2).repeat(count);
  assert.ok(text === renamed(body("input", left + USER)));
  assert.ok(turns > 200, `${turns} turns`);
});
