import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Family } from "../../../src/base/protocol.ts";
import { waitInRealTime } from "../../../src/tools/demo/speak.ts";
import { createFixedDemo, demoRequest, NOON_MS } from "./harness.ts";
import { loadConfig } from "../../../src/gateway/config/load.ts";
import { demoConfigText } from "../../../src/tools/demo/config.ts";
import { steps } from "../../support/steps.ts";

const HELLO = [{ role: "user", content: "Hello" }];

const DAY_MS = 86_400_000;

const CALLS: readonly {
  readonly family: Family;
  readonly path: string;
  readonly body: JsonObject;
}[] = [
  {
    family: "A",
    path: "/v1/chat/completions",
    body: { model: "demo-a", messages: HELLO },
  },
  {
    family: "B",
    path: "/v1/messages",
    body: { model: "demo-b", max_tokens: 500, messages: HELLO },
  },
  {
    family: "C",
    path: "/v1/responses",
    body: { model: "demo-c", input: "Hello" },
  },
];

/** The response to a refused request. */
async function refusal(
  request: Request,
): Promise<{ status: number; body: unknown; response: Response }> {
  const response = await createFixedDemo()(request);
  return { status: response.status, body: await response.json(), response };
}

Deno.test("the demo accepts a URL with options, and a request", async () => {
  const demo = createFixedDemo();
  const response = await demo("https://demo-c.invalid/v1/models", {
    headers: { authorization: "Bearer demo-key-c" },
  });
  assert.equal(response.status, 200);
});

Deno.test("the demo rejects an unknown host with the error of fetch", async () => {
  await assert.rejects(
    createFixedDemo()("http://example.com/v1/models"),
    (error) => error instanceof TypeError && /example\.com/.test(error.message),
  );
});

Deno.test("the demo rejects a missing or wrong key in the protocol's shape", async (t) => {
  for (const { family, path, body } of CALLS) {
    for (const authorization of ["", "Bearer wrong", "Basic demo-key-a"]) {
      await t.step(`${path} with "${authorization}"`, async () => {
        const headers = { authorization };
        const { status, body: answer } = await refusal(
          demoRequest(family, path, { body, headers }),
        );
        assert.equal(status, 401);
        const isMissing = authorization !== "Bearer wrong";
        assert.deepEqual(
          answer,
          family === "B"
            ? {
              type: "error",
              error: {
                type: "authentication_error",
                message: isMissing
                  ? "x-api-key header is required"
                  : "invalid x-api-key",
              },
              request_id: "req_1",
            }
            : {
              error: {
                message: isMissing
                  ? "You didn't provide an API key. Provide it in an Authorization header using Bearer auth."
                  : "Incorrect API key provided.",
                type: "authentication_error",
                param: null,
                code: isMissing ? null : "invalid_api_key",
              },
            },
        );
      });
    }
  }
});

Deno.test("the demo accepts x-api-key for Messages only", async () => {
  const statusWith = async (path: string, body: JsonObject) => {
    const request = demoRequest("A", path, {
      body,
      headers: { "x-api-key": "demo-key-a" },
    });
    request.headers.delete("authorization");
    return (await refusal(request)).status;
  };
  const body = { model: "demo-a", max_tokens: 9, messages: HELLO };
  assert.equal(await statusWith("/v1/messages", body), 200);
  assert.equal(await statusWith("/v1/chat/completions", body), 401);
});

Deno.test("the demo requires a date as the version of Messages", async () => {
  const statusWith = async (version: string) => {
    const request = demoRequest("B", "/v1/messages", {
      body: { model: "demo-b", max_tokens: 9, messages: HELLO },
    });
    request.headers.delete("anthropic-version");
    if (version !== "") request.headers.set("anthropic-version", version);
    return (await refusal(request)).status;
  };
  assert.equal(await statusWith(""), 400);
  assert.equal(await statusWith("latest"), 400);
  assert.equal(await statusWith("2026-10-21"), 200);
});

Deno.test("the demo rejects a model of another family in the protocol's shape", async (t) => {
  for (const { family, path, body } of CALLS) {
    await t.step(path, async () => {
      const { status, body: answer } = await refusal(
        demoRequest(family, path, { body: { ...body, model: "demo-x" } }),
      );
      assert.equal(status, 404);
      assert.match(
        JSON.stringify(answer),
        family === "B"
          ? /"not_found_error","message":"model: demo-x"/
          : /'demo-x' does not exist.*"param":"model","code":"model_not_found"/,
      );
    });
  }
});

Deno.test("the demo rejects a body that is not a JSON object or names no model", async (t) => {
  for (const { family, path } of CALLS) {
    for (const body of ["", "{", "[]", "{}", '{"model":7}']) {
      await t.step(`${path} with ${body}`, async () => {
        const { status } = await refusal(demoRequest(family, path, { body }));
        assert.equal(status, 400);
      });
    }
  }
});

Deno.test("the demo serves each family on its own paths only", async (t) => {
  const elsewhere: readonly (readonly [Family, string])[] = [
    ["A", "/v1/unknown"],
    ["A", "/chat/completions"],
    ["B", "/v1/chat/completions"],
    ["B", "/v1/responses"],
    ["C", "/v1/messages"],
    ["C", "/v1/models/demo-b"],
    ["C", "/api/oauth/usage"],
  ];
  for (const [family, path] of elsewhere) {
    await t.step(`${family} ${path}`, async () => {
      const { status } = await refusal(demoRequest(family, path));
      assert.equal(status, 404);
    });
  }
});

Deno.test("the demo names the method that a path accepts", async (t) => {
  const wrong: readonly (readonly [string, string, string])[] = [
    ["/v1/chat/completions", "GET", "POST"],
    ["/v1/models", "DELETE", "GET"],
    ["/api/monitor/usage/quota/limit", "POST", "GET"],
  ];
  await steps(t, wrong, async ([path, method, allowed]) => {
    const { status, response } = await refusal(
      demoRequest("A", path, { method }),
    );
    assert.equal(status, 405);
    assert.equal(response.headers.get("allow"), allowed);
  });
});

Deno.test("the demo lists the models of a family in the family's form", async () => {
  const a = await refusal(demoRequest("A", "/v1/models"));
  const b = await refusal(demoRequest("B", "/v1/models/demo-b"));
  assert.match(
    JSON.stringify(a.body),
    /^\{"object":"list","data":\[\{"id":"demo-a","object":"model"/,
  );
  assert.deepEqual(b.body, {
    type: "model",
    id: "demo-b",
    display_name: "demo-b",
    created_at: "2026-01-01T00:00:00.000Z",
    max_input_tokens: 200_000,
    max_tokens: 64_000,
    capabilities: {
      image_input: { supported: true },
      pdf_input: { supported: true },
      thinking: { supported: false },
    },
  });
});

Deno.test("the demo lists no models without a key", async () => {
  const request = demoRequest("A", "/v1/models");
  request.headers.delete("authorization");
  assert.equal((await refusal(request)).status, 401);
});

Deno.test("every response of the demo has an id in the protocol's header", async () => {
  for (const { family, path, body } of CALLS) {
    const request = demoRequest(family, path, { body });
    const { response } = await refusal(request);
    const name = family === "B" ? "request-id" : "x-request-id";
    assert.equal(response.headers.get(name), "req_1");
  }
});

Deno.test("the demo returns the same answer to the same request", async () => {
  for (const { family, path, body } of CALLS) {
    const texts = [1, 2].map(async () => {
      const request = demoRequest(family, path, {
        body: { ...body, stream: true },
      });
      return (await createFixedDemo()(request)).text();
    });
    assert.equal(await texts[0], await texts[1]);
  }
});

Deno.test("the demo delays a JSON answer by the time that a stream would take, but by at most three seconds", async () => {
  const waits: number[] = [];
  const demo = createFixedDemo({
    wordMs: 1,
    wait: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
  });
  for (const content of ["Write 50 words", "Write 9000 words"]) {
    const response = await demo(demoRequest("A", "/v1/chat/completions", {
      body: { model: "demo-a", messages: [{ role: "user", content }] },
    }));
    await response.body?.cancel();
  }
  assert.deepEqual(waits, [50, 3000]);
});

Deno.test("the demo stops at once when the caller aborts", async (t) => {
  const slowDemo = () =>
    createFixedDemo({ wait: waitInRealTime, wordMs: DAY_MS });
  for (const { family, path, body } of CALLS) {
    await t.step(`${path} before it is called`, async () => {
      const signal = AbortSignal.abort(new Error("gone"));
      const request = demoRequest(family, path, { body, signal });
      await assert.rejects(slowDemo()(request), /gone/);
    });

    await t.step(`${path} before the headers of a whole answer`, async () => {
      const controller = new AbortController();
      const answer = slowDemo()(
        demoRequest(family, path, { body, signal: controller.signal }),
      );
      controller.abort(new Error("gone"));
      await assert.rejects(answer, /gone/);
    });

    await t.step(`${path} in the middle of a stream`, async () => {
      const controller = new AbortController();
      const response = await slowDemo()(demoRequest(family, path, {
        body: { ...body, stream: true },
        signal: controller.signal,
      }));
      const text = response.text();
      controller.abort(new Error("gone"));
      await assert.rejects(text, /gone/);
    });

    await t.step(`${path} by cancelling the body`, async () => {
      const response = await slowDemo()(
        demoRequest(family, path, { body: { ...body, stream: true } }),
      );
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
    });
  }
});

const SHA256 = "ab".repeat(32);

async function loadDemo() {
  const result = await loadConfig(demoConfigText(SHA256), {
    env: () => undefined,
    readFile: () => Promise.reject(new Error("the demo reads no file")),
    listFiles: () => Promise.resolve([]),
    nowMs: NOON_MS,
  });
  assert("config" in result, JSON.stringify(result));
  return result;
}

Deno.test("demoConfigText() loads without a problem or a warning", async () => {
  const { config, warnings } = await loadDemo();
  assert.deepEqual(warnings, []);
  assert.deepEqual(config.connections.map(({ family }) => family), [
    "A",
    "B",
    "C",
  ]);
});

Deno.test("demoConfigText() allows its one token all connections and models", async () => {
  const { config } = await loadDemo();
  const caller = config.callers.get(SHA256);
  assert.equal(config.callers.size, 1);
  assert.equal(caller?.connectionIds.size, 3);
  assert.equal(caller?.models, undefined);
});

Deno.test("demoConfigText() names only models and addresses that the demo serves", async (t) => {
  const { config } = await loadDemo();
  await steps(t, config.connections, async ({ endpoints, auth, models }) => {
    assert(auth.scheme !== "none");
    const response = await createFixedDemo()(
      `${Object.values(endpoints)[0]}/models`,
      { headers: { authorization: `Bearer ${auth.key}` } },
    );
    const { data } = await response.json();
    const served = data.map((model: { id: string }) => model.id);
    for (const { upstream } of models) assert(served.includes(upstream));
    for (const id of served) {
      assert(models.some((model) => model.upstream === id));
    }
  });
});

Deno.test("demoConfigText() names an address for each quota at which the demo reports it", async (t) => {
  const { config } = await loadDemo();
  await steps(t, config.connections, async ({ quota, auth }) => {
    assert(auth.scheme !== "none" && quota?.url !== undefined);
    const response = await createFixedDemo()(quota.url, {
      headers: { authorization: `Bearer ${auth.key}` },
    });
    assert.equal(response.status, 200);
    assert.notEqual((await response.json()).success, false);
  });
});

Deno.test("demoConfigText() has a model that every family serves and one that falls back", async () => {
  const { config } = await loadDemo();
  assert.equal(config.pools.get("demo-any")?.length, 3);
  const [candidate] = config.pools.get("demo-fallback") ?? [];
  assert.deepEqual(candidate?.model.fallbacks, ["demo-any"]);
});
