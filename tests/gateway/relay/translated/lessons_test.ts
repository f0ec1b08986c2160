import assert from "node:assert/strict";
import {
  type JsonObject,
  type JsonValue,
  objectOf,
} from "../../../../src/base/json.ts";
import type { Notice } from "../../../../src/gateway/shared/notice.ts";
import { UPSTREAM_KEY } from "../../../support/gateway/config.ts";
import { openLessonScene } from "../../../support/gateway/lesson_scene.ts";

const DAY_MS = 86_400_000;

const HELLO: JsonObject = {
  max_tokens: 100,
  messages: [{ role: "user", content: "Hello" }],
};

const isOff = (thinking: JsonValue | undefined) =>
  objectOf(thinking).type === "disabled";

/** Refuses fields in OpenAI's words. */
function refusing(...names: readonly string[]) {
  return (body: JsonObject) => {
    const name = names.find((one) => body[one] !== undefined);
    return name &&
      `Unsupported parameter: '${name}' is not supported with this model.`;
  };
}

Deno.test("a refused field is left out of the second attempt, and of all requests in the next 24 hours", async () => {
  const scene = await openLessonScene(refusing("temperature"));
  const asked = { ...HELLO, temperature: 0.5 };
  const first = await scene.ask("messages", asked);
  assert.equal(first.status, 200);
  assert.deepEqual(first.sent.map(({ temperature }) => temperature), [
    0.5,
    undefined,
  ]);
  assert.deepEqual(first.dropped, ["temperature"]);
  assert.deepEqual(first.line.lesson, ["omit temperature"]);
  assert.equal(first.line.attempts, undefined);
  await scene.ask("messages", asked, "bob");
  const learned = scene.learned();
  assert.deepEqual(learned.map(({ config }) => config), [
    undefined,
    "omit: [temperature]",
  ]);
  assert.deepEqual(learned[0]?.lesson, ["omit temperature"]);

  scene.clock.advance(DAY_MS - 1000);
  const next = await scene.ask("messages", asked);
  assert.equal(next.sent.length, 1);
  assert.deepEqual(next.dropped, ["temperature"]);
  assert.deepEqual(next.line.lesson, ["omit temperature"]);
  const plain = await scene.ask("messages", HELLO);
  assert.deepEqual(plain.dropped, []);
  assert.equal(plain.line.lesson, undefined);

  scene.clock.advance(2000);
  const later = await scene.ask("messages", asked);
  assert.equal(later.sent.length, 2);
});

Deno.test("the configuration that the log suggests prevents the first refusal", async () => {
  const models = [{ id: "m", omit: ["temperature", "messages[].name"] }];
  const scene = await openLessonScene(refusing("temperature"), {
    connection: { models },
  });
  const { sent, dropped } = await scene.ask("responses", {
    input: "Hello",
    temperature: 0.5,
  });
  assert.equal(sent.length, 1);
  assert.deepEqual(dropped, ["temperature"]);
});

Deno.test("configured lessons change a model's requests like learned ones", async () => {
  const lessons = [
    "describe pattern",
    "nearest reasoning_effort: low, medium",
    "omit tools[].function.strict of strict tools",
  ];
  const scene = await openLessonScene(() => undefined, {
    connection: { models: [{ id: "m", lessons }] },
  });
  const word = { type: "string", pattern: "^a" };
  const { sent, dropped, line } = await scene.ask("messages", {
    ...HELLO,
    output_config: { effort: "high" },
    tools: [{
      ...{ name: "f", strict: true },
      input_schema: { type: "object", properties: { word } },
    }],
  });
  assert.equal(sent.length, 1);
  const text = JSON.stringify(sent);
  assert.match(text, /"reasoning_effort":"medium"/);
  assert.doesNotMatch(text, /"strict"|"pattern"/);
  assert.equal(dropped.join(), "pattern,output_config.effort,tools[].strict");
  assert.deepEqual(line.lesson, lessons);
});

Deno.test("a lesson about names gives unusual or long tool names plain, short names", async () => {
  const scene = await openLessonScene(() => undefined, {
    connection: { models: [{ id: "m", lessons: ["rename tools: 32"] }] },
  });
  const names = ["7-notes", "get-a-very-long-name-of-a-tool-here", "plain_1"];
  const { sent: [body], dropped } = await scene.ask("messages", {
    ...HELLO,
    tools: names.map((name) => ({ name, input_schema: { type: "object" } })),
  });
  const sent = JSON.stringify(body).match(/"name":"[^"]+"/g) ?? [];
  assert.deepEqual(
    sent.map((text) => text.replace(/_[0-9a-f]{8}"/, "_…")),
    [
      '"name":"t7_notes_…',
      '"name":"get_a_very_long_name_of_…',
      '"name":"plain_1"',
    ],
  );
  assert.ok(sent.every((text) => text.length <= 32 + '"name":""'.length));
  assert.deepEqual(dropped, []);
});

Deno.test("a lesson about prefilled answers asks the model to continue", async () => {
  const scene = await openLessonScene(() => undefined, {
    connection: { models: [{ id: "m", lessons: ["omit prefill"] }] },
  });
  const messages = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: "He" },
  ];
  const { sent: [body], dropped } = await scene.ask("messages", {
    ...{ max_tokens: 100, messages },
  });
  assert.deepEqual(body?.messages, [
    ...messages,
    { role: "user", content: "Continue." },
  ]);
  assert.deepEqual(dropped, ["messages"]);
  const { sent: [other] } = await scene.ask("messages", HELLO);
  assert.deepEqual(other?.messages, HELLO.messages);
});

Deno.test("a reload forgets the learned lessons", async () => {
  const scene = await openLessonScene(refusing("temperature"));
  const asked = { ...HELLO, temperature: 0.5 };
  await scene.ask("messages", asked);
  scene.liveConfig.swap(structuredClone(scene.liveConfig.current()));
  assert.equal((await scene.ask("messages", asked)).sent.length, 2);
});

Deno.test("a provider that rejects every request gets at most three attempts, and teaches nothing", async () => {
  const names = ["temperature", "top_p", "top_k", "user", "stop"];
  const scene = await openLessonScene((body) => {
    const name = names.find((one) => body[one] !== undefined) ?? "user";
    return `Unsupported parameter: '${name}' is not supported with this model.`;
  });
  const asked = {
    ...HELLO,
    ...{ temperature: 1, top_p: 0.5, top_k: 4, stop_sequences: ["END"] },
  };
  for (let request = 0; request < 2; request++) {
    const { status, sent, text } = await scene.ask("messages", asked);
    assert.equal(status, 400);
    assert.match(text, /Unsupported parameter/);
    assert.ok(sent.length <= 3, `${sent.length} attempts`);
  }
  assert.doesNotMatch(scene.lines.text(), /lesson_learned/);
});

Deno.test("a strict connection learns nothing", async () => {
  const scene = await openLessonScene(refusing("temperature"), {
    connection: { strict: true },
  });
  const { status, sent } = await scene.ask("messages", {
    ...HELLO,
    temperature: 0.5,
  });
  assert.deepEqual([status, sent.length], [400, 1]);
});

Deno.test("a native request is never changed", async () => {
  const scene = await openLessonScene(refusing("temperature"));
  const { status, sent } = await scene.ask("chat", {
    messages: [{ role: "user", content: "Hello" }],
    temperature: 0.5,
  });
  assert.deepEqual([status, sent.length], [400, 1]);
});

Deno.test("a field that changes the meaning of a request is never left out", async () => {
  const tool = { type: "function", name: "f", strict: false };
  const cases: [string, JsonObject][] = [
    ["tools", { tools: [tool] }],
    ["tool_choice", { tools: [tool], tool_choice: "required" }],
    ["response_format", { text: { format: { type: "json_object" } } }],
    ["messages", {}],
    ["model", {}],
  ];
  for (const [name, fields] of cases) {
    const scene = await openLessonScene(() =>
      `Invalid value for '${name}': '${name}' is not supported.`
    );
    const { status, sent } = await scene.ask("responses", {
      input: "Hello",
      ...fields,
    });
    assert.deepEqual([name, status, sent.length], [name, 400, 1]);
  }
});

Deno.test("the output limit keeps its value when it gets the field name that the provider accepts", async () => {
  const scene = await openLessonScene(
    refusing("max_tokens"),
    { model: "house-model" },
  );
  const { status, sent, dropped } = await scene.ask("messages", HELLO);
  assert.equal(status, 200);
  assert.deepEqual(
    sent.map((body) => [body.max_tokens, body.max_completion_tokens]),
    [[100, undefined], [undefined, 100]],
  );
  assert.deepEqual(dropped, []);
});

Deno.test("an effort becomes the nearest one that the provider accepts", async () => {
  const scene = await openLessonScene(({ reasoning_effort: effort }) =>
    effort === undefined || effort === "low" || effort === "high"
      ? undefined
      : `reasoning_effort: Input should be 'low' or 'high', received '${effort}'`
  );
  const effortOf = async (effort: string) => {
    const { sent, dropped, status } = await scene.ask("responses", {
      input: "Hello",
      reasoning: { effort },
    });
    assert.equal(status, 200, effort);
    return [
      sent.map(({ reasoning_effort }) => reasoning_effort).join(),
      dropped.join(),
    ];
  };
  assert.deepEqual(await effortOf("medium"), ["medium,high", "reasoning"]);
  assert.deepEqual(await effortOf("low"), ["low", ""]);
});

Deno.test("a refusal of thinking with a forced tool disables thinking only for requests that force a tool", async () => {
  const scene = await openLessonScene(({ thinking, tool_choice }) =>
    tool_choice === "required" && !isOff(thinking)
      ? "Thinking mode does not support this tool_choice"
      : undefined
  );
  const tools = [{ name: "f", input_schema: { type: "object" } }];
  for (const thinking of [{ type: "adaptive" }, { type: "disabled" }]) {
    const asked = { ...HELLO, tools, thinking };
    const forced = { ...asked, tool_choice: { type: "any" } };
    for (let count = 0; count < 2; count++) {
      const { status, sent, line } = await scene.ask("messages", forced);
      assert.equal(status, 200);
      assert.deepEqual(sent.map((body) => body.thinking), [undefined, {
        type: "disabled",
      }]);
      assert.equal(sent[1]?.reasoning_effort, undefined);
      assert.deepEqual(line.lesson, ["disable thinking"]);
    }
    const { sent } = await scene.ask("messages", asked);
    assert.equal(sent.length, 1);
    assert.equal(sent[0]?.thinking, undefined);
  }
});

Deno.test("an output limit is lowered to the provider's maximum, and reported as dropped if the caller set it", async () => {
  const scene = await openLessonScene(
    ({ max_tokens }) =>
      Number(max_tokens) > 8192
        ? `max_tokens: ${max_tokens} > 8192, which is the maximum allowed number of output tokens for m`
        : undefined,
    { to: "messages" },
  );
  const messages = [{ role: "user", content: "Hello" }];
  const own = await scene.ask("chat", { messages });
  assert.deepEqual(
    [own.status, own.sent.map(({ max_tokens }) => max_tokens)],
    [200, [32_000, 8192]],
  );
  assert.deepEqual(own.dropped, []);
  await scene.ask("chat", { messages }, "bob");
  assert.equal(scene.learned()[1]?.config, "max_output_tokens: 8192");
  const asked = await scene.ask("chat", { messages, max_tokens: 10_000 });
  assert.deepEqual(
    [asked.status, asked.sent.map(({ max_tokens }) => max_tokens)],
    [200, [8192]],
  );
  assert.deepEqual(asked.dropped, ["max_tokens"]);
  const less = await scene.ask("chat", { messages, max_tokens: 100 });
  assert.deepEqual(less.sent.map(({ max_tokens }) => max_tokens), [100]);
  assert.deepEqual(less.dropped, []);
});

/** Refusals of the output limit, by the provider's protocol. */
const LIMITS = [
  [
    "chat",
    "max_tokens",
    "max_tokens is too large: 64000. This model supports at most 4096 completion tokens",
  ],
  ["chat", "max_tokens", "Range of max_tokens should be [1, 4096]"],
  [
    "messages",
    "max_tokens",
    "The maximum tokens you requested exceeds the model limit of 4096",
  ],
  [
    "responses",
    "max_output_tokens",
    "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 4096, but got 64000 instead.",
  ],
] as const;

for (const [to, field, message] of LIMITS) {
  Deno.test(`the limit that Claude Code always sends is lowered: ${to}: ${message}`, async () => {
    const from = to === "messages" ? "chat" : "messages";
    const scene = await openLessonScene(
      (body) => Number(body[field]) > 4096 ? message : undefined,
      { to, connection: { paths: [from] } },
    );
    const { status, sent, dropped } = await scene.ask(from, {
      ...HELLO,
      max_tokens: 64_000,
    });
    assert.equal(status, 200);
    assert.deepEqual(sent.map((body) => body[field]), [64_000, 4096]);
    assert.deepEqual(dropped, ["max_tokens"]);
  });
}

Deno.test("a caller without a stream gets the whole answer of a model that only streams", async () => {
  const scene = await openLessonScene(({ stream }) =>
    stream === true
      ? undefined
      : "This model only support stream mode, please enable the stream parameter to access the model."
  );
  const first = await scene.ask("messages", HELLO);
  assert.equal(first.status, 200, first.text);
  assert.deepEqual(first.sent.map(({ stream }) => stream === true), [
    false,
    true,
  ]);
  assert.equal(JSON.parse(first.text).type, "message");
  assert.deepEqual(first.dropped, []);
  assert.equal((await scene.ask("messages", HELLO)).sent.length, 1);
});

Deno.test("after a refusal that names no field, the plainest body is sent once, and later requests find the cause", async () => {
  const scene = await openLessonScene(
    (body) =>
      body.service_tier === undefined
        ? undefined
        : "Request contains an invalid argument.",
    { service: "gateway" },
  );
  const ask = (caller: "alice" | "bob" = "alice") =>
    scene.ask("responses", {
      ...{ input: "Hello", temperature: 0.5, service_tier: "flex" },
      ...{ reasoning: { effort: "high" }, text: { verbosity: "low" } },
    }, caller);
  const first = await ask();
  assert.equal(first.status, 200);
  const [whole, plainest] = first.sent;
  assert.deepEqual(Object.keys(plainest ?? {}).sort(), ["messages", "model"]);
  let sent: readonly JsonObject[] = [];
  for (let request = 0; request < 12; request++) {
    const next = await ask();
    assert.equal(next.status, 200);
    assert(next.sent.length <= 2);
    sent = next.sent;
  }
  const { service_tier: _tier, ...without } = whole ?? {};
  assert.deepEqual(sent, [without], "all but the cause is back");
  assert.deepEqual((await ask()).dropped, ["service_tier"]);
  assert.deepEqual((await ask("bob")).sent[0], whole, "it is alice's lesson");
});

Deno.test("a refusal that names no field teaches nothing if the plainest body is refused too", async () => {
  const scene = await openLessonScene(() => "Bad Request");
  const { status, sent } = await scene.ask("messages", {
    ...HELLO,
    temperature: 0.5,
  });
  assert.deepEqual([status, sent.length], [400, 2]);
  assert.deepEqual(scene.learned(), []);
  const plain = await scene.ask("messages", HELLO);
  assert.deepEqual([plain.status, plain.sent.length], [400, 1]);
});

Deno.test("a refused plainest body is not sent again for ten minutes, at any replica", async () => {
  const listeners: ((notice: Notice) => void)[] = [];
  const open = () =>
    openLessonScene(() => "Bad Request", {
      notices: {
        publish: (notice) => listeners.forEach((listener) => listener(notice)),
        onNotice: (listener) => void listeners.push(listener),
      },
    });
  const [one, two] = [await open(), await open()];
  const asked = { ...HELLO, temperature: 0.5 };
  const sent = async (scene: typeof one, caller: "alice" | "bob") =>
    (await scene.ask("messages", asked, caller)).sent.length;
  assert.equal(await sent(one, "alice"), 2);
  assert.equal(await sent(one, "alice"), 1);
  assert.equal(await sent(two, "alice"), 1);
  assert.equal(await sent(two, "bob"), 2, "the fault was another caller's");
  assert.deepEqual([...one.learned(), ...two.learned()], []);
  one.clock.advance(600_000);
  assert.equal(await sent(one, "alice"), 2);
});

/** Refusals of pictures, and their statuses. */
const PICTURES = [
  [400, "messages.content.type 参数非法，取值范围 ['text']"],
  [400, "facebook/opt-125m is not a multimodal model None"],
  [404, "No endpoints found that support image input"],
  [415, "This model does not accept images"],
  [422, "messages[1].content must be a string"],
  [
    500,
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
  ],
] as const;

for (const [code, message] of PICTURES) {
  Deno.test(`a session continues when a picture in its history is refused: ${code} ${message}`, async () => {
    const scene = await openLessonScene(
      (body) =>
        JSON.stringify(body).includes('"image_url"') ? message : undefined,
      { status: code },
    );
    const image = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
    };
    const shown = { role: "user", content: [image] };
    const later = [
      shown,
      { role: "assistant", content: "?" },
      { role: "user", content: "Go on" },
    ];
    const history = await scene.ask("messages", {
      max_tokens: 100,
      messages: later,
    });
    assert.equal(history.status, 200, history.text);
    assert.match(JSON.stringify(history.sent.at(-1)), /\[image: not shown/);
    const again = await scene.ask("messages", {
      max_tokens: 100,
      messages: later,
    });
    assert.equal(again.sent.length, 1);
    const asked = await scene.ask("messages", {
      max_tokens: 100,
      messages: [shown],
    });
    assert.equal(asked.status, 400);
    assert.match(asked.text, /capability_rejected: image_block/);
  });
}

Deno.test("refusals of several efforts are combined into one range", async () => {
  const scene = await openLessonScene(
    ({ reasoning_effort: effort }) =>
      effort === "minimal" || effort === "max"
        ? `Invalid reasoning_effort: ${effort}`
        : undefined,
    { service: "gateway" },
  );
  const ask = async (effort: string) =>
    (await scene.ask("responses", { input: "Hi", reasoning: { effort } })).sent
      .map(({ reasoning_effort }) => reasoning_effort).join();
  assert.equal(await ask("max"), "max,xhigh");
  assert.equal(await ask("minimal"), "minimal,low");
  assert.equal(await ask("max"), "xhigh");
  assert.equal(await ask("minimal"), "low");
});

Deno.test("the gateway cuts answers at stop strings that a provider rejects", async () => {
  const scene = await openLessonScene(refusing("stop"));
  const { status, text, sent } = await scene.ask("messages", {
    ...HELLO,
    stop_sequences: ["END"],
  });
  assert.equal(status, 200);
  assert.equal(sent.length, 2);
  assert.doesNotMatch(text, /END of it/);
  assert.match(text, /"stop_sequence":"END"/);
});

Deno.test("the gateway cuts answers at stop strings that the configuration omits from requests", async () => {
  const scene = await openLessonScene(refusing("stop"), {
    connection: { omit: ["stop"] },
  });
  const { text, sent } = await scene.ask("messages", {
    ...HELLO,
    stop_sequences: ["END"],
  });
  assert.equal(sent.length, 1);
  assert.match(text, /"stop_sequence":"END"/);
});

Deno.test("a refused schema keyword moves into the description in the same schema", async () => {
  const scene = await openLessonScene((body) =>
    JSON.stringify(body).includes('"minLength":')
      ? {
        error: {
          message:
            "Invalid schema for function 'f': In context=('properties', 'a'), 'minLength' is not permitted.",
          param: "tools[0].function.parameters",
        },
      }
      : undefined
  );
  const input_schema = {
    type: "object",
    properties: {
      a: { type: "string", minLength: 3, description: "A name." },
      minLength: { type: "number" },
    },
  };
  const { status, sent, dropped } = await scene.ask("messages", {
    ...HELLO,
    tools: [{ name: "f", input_schema }],
  });
  assert.equal(status, 400, "a property of that name stays");
  assert.equal(sent.length, 2);
  assert.deepEqual(dropped, []);
  const { minLength: _name, ...properties } = input_schema.properties;
  const healed = await scene.ask("messages", {
    ...HELLO,
    tools: [{ name: "f", input_schema: { type: "object", properties } }],
  });
  assert.equal(healed.status, 200);
  assert.match(
    JSON.stringify(healed.sent.at(-1)?.tools),
    /"description":"A name\.\\n\\nminLength: 3"/,
  );
  assert.deepEqual(healed.dropped, ["minLength"]);
});

Deno.test("a refused picture is replaced by a note in earlier turns and results, and rejected in the last message", async () => {
  const scene = await openLessonScene((body) =>
    JSON.stringify(body).includes('"image_url"')
      ? "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 679289"
      : undefined
  );
  const url = "data:image/png;base64,iVBORw0KGgo=";
  const looked = [
    { role: "user", content: "Look" },
    { type: "function_call", call_id: "1", name: "view", arguments: "{}" },
    {
      type: "function_call_output",
      call_id: "1",
      output: [{ type: "input_image", image_url: url }],
    },
  ];
  const shown = {
    role: "user",
    content: [{ type: "input_image", image_url: url }],
  };
  const result = await scene.ask("responses", { input: looked });
  assert.equal(result.status, 200);
  assert.match(JSON.stringify(result.sent.at(-1)), /\[image: not shown/);
  assert.deepEqual(result.dropped, ["input"]);
  const asked = await scene.ask("responses", { input: [shown] });
  assert.equal(asked.status, 400);
  const later = await scene.ask("responses", {
    input: [shown, { role: "assistant", content: "?" }, ...looked.slice(0, 1)],
  });
  assert.deepEqual([later.status, later.sent.length], [200, 1]);
});

Deno.test("when a provider rejects earlier reasoning, only this reasoning is left out of the history", async () => {
  const scene = await openLessonScene((body) =>
    JSON.stringify(body).includes('"reasoning_content":')
      ? "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]"
      : undefined
  );
  const { status, sent, dropped } = await scene.ask("messages", {
    max_tokens: 100,
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "" },
          { type: "tool_use", id: "t1", name: "f", input: {} },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "t1", content: "1" }],
      },
    ],
  });
  assert.equal(status, 200);
  const [before, after] = sent.map(({ messages }) => JSON.stringify(messages));
  assert.equal(before?.replace(/"reasoning_content":"Hm\.",?/, ""), after);
  assert.deepEqual(dropped, ["messages[].reasoning_content"]);
});

Deno.test("a refused combination of fields changes only the refused request", async () => {
  const scene = await openLessonScene(
    ({ temperature, tools }) =>
      temperature === undefined || tools === undefined
        ? undefined
        : "`temperature` is not supported when tools are used",
  );
  const asked = { ...HELLO, temperature: 0.5 };
  const tools = [{ name: "f", input_schema: { type: "object" } }];
  const both = await scene.ask("messages", { ...asked, tools });
  assert.deepEqual([both.status, both.sent.length], [200, 2]);
  assert.deepEqual(both.dropped, ["temperature"]);
  const alone = await scene.ask("messages", asked);
  assert.deepEqual(alone.sent.map(({ temperature }) => temperature), [0.5]);
  assert.doesNotMatch(scene.lines.text(), /lesson_learned/);
});

/** Errors about a value that only one caller's requests have. */
const BAD_VALUES: readonly (readonly [string, JsonObject])[] = [
  ["OpenAI", {
    message:
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 5 instead.",
    param: "temperature",
  }],
  ["pydantic", {
    message: "temperature: Input should be less than or equal to 1",
  }],
  ["a model's own bounds", {
    message: "temperature must be at most 1 for this model",
    param: "temperature",
  }],
  ["a sentence", { message: "temperature is not allowed to exceed 2" }],
];

for (const [who, error] of BAD_VALUES) {
  Deno.test(`a field that is refused for one caller's bad value stays in other requests: ${who}`, async () => {
    const scene = await openLessonScene(({ temperature }) =>
      Number(temperature) > 1 ? { error } : undefined
    );
    const bad = await scene.ask("responses", { input: "Hi", temperature: 1.5 });
    assert.deepEqual([bad.status, bad.sent.length], [400, 1]);
    const good = await scene.ask("responses", { input: "Hi", temperature: 1 });
    assert.deepEqual(good.sent.map(({ temperature }) => temperature), [1]);
  });
}

/** Errors that name a changeable field in a context where it must not count. */
const HOSTILE: readonly (readonly [string, JsonObject])[] = [
  ["a message of the conversation", {
    message:
      "Invalid content: Unsupported parameter: 'temperature' is not supported",
    param: "messages[0].content",
  }],
  ["a tool's name", {
    message: "Invalid 'tools[0].function.name': string too long.",
    param: "tools[0].function.name",
  }],
  ["the gateway's key", {
    message: `Unsupported parameter: 'temperature' for ${UPSTREAM_KEY}`,
  }],
  ["a megabyte", {
    message: "Unsupported parameter: 'temperature' ".repeat(30_000),
  }],
];

for (const [what, error] of HOSTILE) {
  Deno.test(`a field named in another context teaches nothing: ${what}`, async () => {
    const scene = await openLessonScene(() => ({ error }));
    const { status, sent, line } = await scene.ask("messages", {
      ...HELLO,
      temperature: 0.5,
    });
    assert.deepEqual([status, sent.length], [400, 1]);
    assert.equal(line.lesson, undefined);
  });
}

Deno.test("an error that quotes a caller's text or a secret teaches nothing if the changed request fails too", async () => {
  const scene = await openLessonScene((body) =>
    JSON.stringify(body).includes("poison")
      ? "Bad text: 'poison sk-secret-1 `temperature` is not supported'"
      : undefined
  );
  const poisoned = await scene.ask("messages", {
    max_tokens: 100,
    temperature: 0.5,
    messages: [{ role: "user", content: "poison" }],
  });
  assert.equal(poisoned.status, 400);
  const next = await scene.ask("messages", { ...HELLO, temperature: 0.5 });
  assert.deepEqual(next.sent.map(({ temperature }) => temperature), [0.5]);
  assert.deepEqual(next.dropped, []);
  assert.doesNotMatch(scene.lines.text(), /sk-secret|poison|lesson_learned/);
});

Deno.test("a lesson that one gateway learns also applies at another gateway", async () => {
  const published: Notice[] = [];
  const first = await openLessonScene(refusing("temperature"), {
    notices: { publish: (one) => void published.push(one), onNotice() {} },
  });
  await first.ask("messages", { ...HELLO, temperature: 0.5 });
  const notice = published.find(({ kind }) => kind === "lesson");
  assert.ok(notice?.kind === "lesson");
  let listener = (_notice: Notice) => {};
  const second = await openLessonScene(refusing("temperature"), {
    notices: {
      publish() {},
      onNotice(one) {
        listener = one;
      },
    },
  });
  listener(structuredClone(notice));
  const { sent, dropped } = await second.ask("messages", {
    ...HELLO,
    temperature: 0.5,
  });
  assert.equal(sent.length, 1);
  assert.deepEqual(dropped, ["temperature"]);
  assert.doesNotMatch(second.lines.text(), /lesson_learned/);
});

Deno.test("a grammar error removes `strict` only from the affected caller's tools", async () => {
  const scene = await openLessonScene((body) =>
    JSON.stringify(body).includes('"strict":true')
      ? "failed to parse grammar"
      : undefined
  );
  const tool = {
    ...{ type: "function", name: "f", strict: true },
    parameters: { type: "object", properties: { a: { type: "string" } } },
  };
  const ask = async (caller: "alice" | "bob" | "carol") =>
    (await scene.ask(
      "responses",
      { input: "Hi", tools: [tool], user: "u" },
      caller,
    ))
      .sent.length;
  for (const caller of ["alice", "bob"] as const) {
    assert.equal(await ask(caller), 2);
    for (let request = 0; request < 8; request++) await ask(caller);
    assert.equal(await ask(caller), 1);
  }
  assert.equal(await ask("carol"), 2);
});
