import type {
  HttpClient,
  IncomingRequest,
} from "../../../src/http1/message.ts";
import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { DEFAULT_PROTOCOL } from "../../../src/base/protocol.ts";
import type { HeaderFields } from "../../../src/base/header_fields.ts";
import { PAGE_PATHS } from "../../../src/page/page.ts";
import { ROUTES } from "../../../src/gateway/http/routes.ts";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  configOf,
  loadFile,
} from "../../support/gateway/config.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../support/fakes/fake_timers.ts";
import {
  createMemoryLog,
  type MemoryLog,
} from "../../support/fakes/memory_log.ts";
import { settle } from "../../support/settle.ts";
import { steps } from "../../support/steps.ts";

type Gateway = ReturnType<typeof createGateway>;

/** Opens a gateway that is called as a function, without a network. */
interface Scene extends Gateway {
  readonly log: MemoryLog;
  readonly timers: FakeTimers;
  call(path: string, init?: RequestInit): Promise<Response>;
  serve(request: IncomingRequest): Promise<Response>;
}

async function begin(
  fetch: Fetch = () => Promise.resolve(Response.json({ ok: true })),
  client?: HttpClient,
): Promise<Scene> {
  const log = createMemoryLog();
  const timers = createFakeTimers();
  const config = configOf(await loadFile(familiesFile("http://127.0.0.1:9")));
  const liveConfig = createLiveConfig(config);
  const gateway = createGateway({ liveConfig, fetch, client, log, timers });
  return {
    ...gateway,
    log,
    timers,
    serve: gateway.handler,
    call: (path, init) =>
      gateway.handler(new Request(`http://gateway${path}`, init)),
  };
}

Deno.test("the gateway rejects an unknown path with an error of the protocol that the path suggests", async () => {
  const scene = await begin();
  const messages = ["/messages", "/v2/messages", "/v1/messages/unknown"];
  for (const path of messages) {
    const error = await readError(await scene.call(path), "messages");
    assert.equal(error.status, 404, path);
  }
  for (const path of ["/", "/v1/nothing", "/unknown?/messages"]) {
    const response = await scene.call(path, { method: "PUT" });
    const error = await readError(response, "chat");
    assert.ok(error.status === 404 || error.status === 405, path);
  }
});

/** Mistyped paths, with the suggested ones. */
const MISTYPED: Readonly<Record<string, string>> = {
  "/chat/completions": "/v1/chat/completions",
  "/v1/v1/chat/completions": "/v1/chat/completions",
  "/v1/v1/v1/messages": "/v1/messages",
  "/api/v1/v1/responses": "/v1/responses",
  "/v1/chat/completion": "/v1/chat/completions",
  "/v1/chat/completions/": "/v1/chat/completions",
  "/v1//chat/completions": "/v1/chat/completions",
  "/v1/Chat/Completions": "/v1/chat/completions",
  "/openai/v1/chat/completions": "/v1/chat/completions",
  "/chat/completion": "/v1/chat/completions",
  "/v1/chatcompletions": "/v1/chat/completions",
  "/v1/message": "/v1/messages",
  "/messages/count_tokens": "/v1/messages/count_tokens",
  "/v1/response": "/v1/responses",
  "/v1/completion": "/v1/completions",
  "/models": "/v1/models",
  "/v1/model": "/v1/models",
  "/v1/v1/limits": "/v1/limits",
  "/api/v1/chat/completions/": "/v1/chat/completions",
  "/v1/models/": "/v1/models",
  "/openai/v1/responses": "/v1/responses",
  "/anthropic/v1/messages": "/v1/messages",
  "/anthropic/messages": "/v1/messages",
  "/v1beta/models": "/v1/models",
  "/openai/deployments/gpt-4/chat/completions": "/v1/chat/completions",
  "/v1/chat/completions/chat/completions": "/v1/chat/completions",
  "/v1/responses/responses": "/v1/responses",
  "/v1/chat/completions/v1/chat/completions": "/v1/chat/completions",
};

Deno.test("the error of a mistyped path suggests the right path, in that path's protocol", async (t) => {
  const scene = await begin();
  await steps(t, Object.entries(MISTYPED), async ([path, meant]) => {
    const protocol = PROTOCOLS.find((one) =>
      PATHS[one] === meant || meant.startsWith(`${PATHS[one]}/`)
    );
    const response = await scene.call(path, { method: "POST" });
    const error = await readError(response, protocol ?? "chat");
    assert.equal(error.status, 404);
    assert.ok(error.message.endsWith(` Use ${meant}.`), error.message);
  });
});

Deno.test("the error of an unknown path never quotes it, and long paths get no suggestion", async () => {
  const scene = await begin();
  const secret = "sk-canary";
  const paths = [
    `/v1/${secret}`,
    `/${secret}/v1/chat/completion`,
    `/v1/chat/completions/${secret}`,
    `/${"v1/".repeat(2000)}messages`,
    `/${"x".repeat(200)}/v1/messages`,
    "/v1/threads/thread_1/messages",
    "/",
    "/v1",
    "/favicon.ico",
  ];
  for (const path of paths) {
    const response = await scene.call(path, { method: "POST" });
    const text = await response.text();
    assert.ok([404, 405].includes(response.status), path);
    assert.doesNotMatch(text, /canary|xxx|favicon/);
    const isNear = path.endsWith("/chat/completion");
    assert.equal(/ Use \/v1/.test(text), isNear, text);
  }
});

Deno.test("the gateway rejects an unreadable request on every path, and closes the connection", async (t) => {
  const scene = await begin();
  const fault = "it has several host headers. Send one";
  const faulty = (path: string, init?: RequestInit) =>
    scene.serve(
      Object.assign(new Request(`http://gateway${path}`, init), { fault }),
    );
  await steps(t, PROTOCOLS, async (protocol) => {
    const init = ask(protocol, hello(protocol));
    const response = await faulty(PATHS[protocol], init);
    const error = await readError(response, protocol);
    assert.equal(error.status, 400);
    assert.equal(error.type, "invalid_request_error");
    assert.match(error.message, /several host headers\. Send one\.$/);
    assert.equal(error.headers.get("connection"), "close");
  });
  await steps(t, ["/healthz", "/unknown", "/v1/models"], async (path) => {
    const response = await faulty(path);
    assert.equal(response.status, 400);
    assert.equal(response.headers.get("connection"), "close");
    await response.body?.cancel();
  });
  assert.equal(scene.admission.active, 0);
});

Deno.test("a view of the page is one line in the log", async () => {
  const scene = await begin();
  for (const path of PAGE_PATHS) {
    const response = await scene.call(path);
    assert.equal(response.status, 200);
    await response.body?.cancel();
  }
  assert.deepEqual(scene.log.entries.map(({ fields }) => fields.route), ["/"]);
});

/** Requests to each route, at its first path. */
const EVERY_ROUTE = ROUTES.map(({ methods, paths, action, protocol }) => {
  const [method = "GET"] = methods;
  const path = (paths[0] ?? "/").replace(":vendor", "anthropic")
    .replace(":id+", "model-a");
  const name = `${method} ${path}`;
  return { name, method, path, action, protocol: protocol ?? DEFAULT_PROTOCOL };
});

Deno.test("a draining gateway refuses new requests on every route, and closes each connection", async (t) => {
  const scene = await begin();
  await scene.admission.drain();
  const headers = { authorization: `Bearer ${ALICE_TOKEN}` };
  await steps(t, EVERY_ROUTE, async (route) => {
    const { method, path, action, protocol } = route;
    const response = await scene.call(path, { method, headers });
    assert.equal(response.headers.get("connection"), "close");
    const open = "open" in action ? action.open.name : undefined;
    assert.equal(response.status, open === "live" ? 200 : 503);
    if (open === "live" || open === "ready" || method === "HEAD") {
      return void await response.body?.cancel();
    }
    const error = await readError(response, protocol);
    assert.match(error.message, /shutting down/);
    assert.equal(error.headers.get("retry-after"), "1");
  });
  const unknown = await scene.call("/unknown");
  assert.equal(unknown.status, 404);
  assert.equal(unknown.headers.get("connection"), "close");
});

Deno.test("a response that begins while the gateway drains closes its connection", async () => {
  const answer = Promise.withResolvers<Response>();
  const scene = await begin(() => answer.promise);
  const pending = scene.call(PATHS.chat, ask("chat", hello("chat")));
  await settle();
  void scene.admission.drain();
  answer.resolve(Response.json({ choices: [] }));
  const response = await pending;
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("connection"), "close");
  assert.deepEqual(await response.json(), { choices: [] });
});

Deno.test("the gateway forbids caching of its own answers and of errors", async (t) => {
  const scene = await begin();
  const headers = { authorization: `Bearer ${ALICE_TOKEN}` };
  const own = EVERY_ROUTE.filter(({ action }) => "response" in action);
  const paths = own.map(({ path }) => path);
  assert.ok(paths.length >= 5);
  const codex = "/v1/models?client_version=0.170.0";
  const faulty = ["/v1/models/unknown", "/v1/limits?a=1", "/unknown"];
  await steps(t, [...paths, codex, ...faulty], async (path) => {
    for (const init of [{ headers }, {}]) {
      const response = await scene.call(path, init);
      assert.equal(response.headers.get("cache-control"), "no-store");
      await response.body?.cancel();
    }
  });
  await steps(t, PROTOCOLS, async (protocol) => {
    const unreadable = ask(protocol, "{");
    const refused = await scene.call(PATHS[protocol], unreadable);
    assert.equal(refused.status, 400);
    assert.equal(refused.headers.get("cache-control"), "no-store");
    await refused.body?.cancel();
  });
});

Deno.test("the gateway forbids caching of translated answers, and keeps the provider's caching headers of native answers", async () => {
  const headers = { "cache-control": "max-age=5" };
  const message = {
    ...{ type: "message", role: "assistant", stop_reason: "end_turn" },
    content: [{ type: "text", text: "Hi" }],
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const scene = await begin(() =>
    Promise.resolve(Response.json({ ...message, choices: [] }, { headers }))
  );
  const cacheOf = async (model: string) => {
    const init = ask("chat", hello("chat", { model }));
    const response = await scene.call(PATHS.chat, init);
    assert.equal(response.status, 200);
    await response.body?.cancel();
    return response.headers.get("cache-control");
  };
  assert.equal(await cacheOf("model-a"), "max-age=5");
  assert.equal(await cacheOf("model-b"), "no-store");
});

Deno.test("the handler never rejects, and hides an unforeseen error", async () => {
  const secret = "my secret prompt";
  const scene = await begin();
  Object.assign(scene.admission, {
    enter() {
      throw new Error(secret);
    },
  });
  const response = await scene.call(PATHS.chat, ask("chat"));
  const error = await readError(response, "chat");
  assert.equal(error.status, 500);
  assert.equal(error.type, "server_error");
  const [unforeseen, request] = scene.log.entries;
  assert.equal(unforeseen?.event, "unforeseen");
  assert.equal(unforeseen?.level, "error");
  assert.equal(unforeseen?.fields.request_id, request?.fields.request_id);
  assert.equal(request?.fields.ended, "error");
  const reported = JSON.stringify(scene.log.entries) + error.message;
  assert.ok(!reported.includes("secret"));
});

/** Returns a request whose `broken` properties throw, like one that the platform has closed. */
function brokenRequest(
  broken: "method" | "url" | "headers",
  secret: string,
): Request {
  const request = new Request(`http://gateway${PATHS.chat}`, ask("chat"));
  return Object.defineProperty(request, broken, {
    get() {
      throw new TypeError(secret);
    },
  });
}

Deno.test("the handler never rejects, even when the request's target cannot be read", async (t) => {
  const secret = "my secret prompt";
  await steps(t, ["method", "url", "headers"] as const, async (broken) => {
    const scene = await begin();
    const response = await scene.handler(brokenRequest(broken, secret));
    const error = await readError(response, "chat");
    assert.equal(error.status, 500);
    assert.equal(error.type, "server_error");
    const [unforeseen] = scene.log.entries;
    assert.equal(unforeseen?.event, "unforeseen");
    assert.equal(
      unforeseen?.fields.request_id,
      error.headers.get("x-request-id"),
    );
    const reported = JSON.stringify(scene.log.entries) + error.message;
    assert.ok(!reported.includes("secret"));
  });
});

Deno.test("the handler never rejects, even when the error's response fails", async () => {
  const scene = await begin();
  Object.assign(scene.log, {
    write() {
      throw new Error("no space left on device");
    },
  });
  const response = await scene.call("/v1/messages/unknown");
  const error = await readError(response, "messages");
  assert.equal(error.status, 500);
});

Deno.test("the gateway aborts the upstream's request after an unforeseen error", async () => {
  let signal: AbortSignal | undefined;
  const scene = await begin(undefined, {
    send(request) {
      signal = request.signal;
      return Promise.resolve({
        status: 200,
        get headers(): HeaderFields {
          throw new TypeError("odd");
        },
        body: new ReadableStream(),
      });
    },
  });
  const response = await scene.call(PATHS.chat, ask("chat"));
  assert.equal(response.status, 500);
  assert.equal(signal?.aborted, true);
  assert.equal(scene.admission.active, 0);
});

Deno.test("the gateway scans a long body while it arrives, and sends nothing before its end", async () => {
  let asked = 0;
  const scene = await begin(() => {
    asked++;
    return Promise.resolve(Response.json({ ok: true }));
  });
  const values = Array(600_000).fill(1);
  const bytes = new TextEncoder().encode(
    hello("chat", { model: "model-a", values }),
  );
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const answering = scene.call(PATHS.chat, { ...ask("chat"), body: readable });
  const writer = writable.getWriter();
  await writer.write(bytes.subarray(0, -1));
  await settle();
  assert.equal(asked, 0);
  await writer.write(bytes.subarray(-1));
  await settle();
  assert.equal(asked, 0);
  await writer.close();
  assert.equal((await answering).status, 200);
  assert.equal(asked, 1);
});
