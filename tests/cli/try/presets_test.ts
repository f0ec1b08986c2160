import assert from "node:assert/strict";
import { tryModels } from "../../../src/cli/try/try_models.ts";
import { isServiceName } from "../../../src/config/services.ts";
import { starterFile } from "../../../src/config/starter.ts";
import { isJsonObject } from "../../../src/core/json.ts";
import { randomIds } from "../../../src/core/ids.ts";
import { systemClock } from "../../../src/core/time/timers.ts";
import { createStrictProvider } from "../../support/upstream/strict_provider/mod.ts";
import { configOf, loadText } from "../../support/gateway/config.ts";
import {
  FAKE_KEY,
  FAKE_PROVIDERS,
  type FakeProvider,
  refusalOf,
} from "../../support/upstream/fake_providers.ts";

// `check --try` in front of a strict fake of every preset: what it refuses natively shows, and no translated request is
// refused for a fact that the tables know.

/** The strict demo provider that answers a protocol's path. */
const ANSWERING = {
  "/chat/completions": { letter: "a", key: "demo-key-a" },
  "/messages": { letter: "b", key: "demo-key-b" },
  "/responses": { letter: "c", key: "demo-key-c" },
} as const;

const strict = createStrictProvider({
  ...{ clock: systemClock, ids: randomIds, wordMs: 0 },
});

/** Answers a request as the strict provider of its protocol does, unless the fake of the preset refuses it. */
async function answer(request: Request, provider: FakeProvider) {
  const { url, headers } = request;
  const body: unknown = JSON.parse(await request.text());
  assert.ok(isJsonObject(body));
  const message = refusalOf(provider, { url, headers, body });
  if (message !== undefined) {
    return Response.json({ error: { message } }, { status: 400 });
  }
  const [path, target] =
    Object.entries(ANSWERING).find(([end]) => url.endsWith(end)) ?? [];
  assert.ok(path !== undefined && target !== undefined, url);
  const { letter, key } = target;
  return await strict(`https://demo-${letter}.invalid/v1${path}`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${key}`,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      ...(letter === "b" ? { "x-api-key": key, "authorization": "" } : {}),
    },
    body: JSON.stringify({ ...body, model: `demo-${letter}` }),
  });
}

/** Tries the first model of a preset's file. */
async function tryPreset(name: string, provider: FakeProvider) {
  assert.ok(isServiceName(name));
  const text = starterFile([name])
    .replace(/( +)# headers_drop/, "$1headers_drop");
  const config = configOf(
    await loadText(text, {
      readFile: (path) =>
        Promise.resolve(path.startsWith("keys/") ? FAKE_KEY : "tokens: []"),
      listFiles: () => Promise.resolve([]),
    }),
  );
  const results = await tryModels(config, {
    fetch: (input, init) => answer(new Request(input, init), provider),
    deadline: () => new AbortController().signal,
    elapsedMs: () => 0,
    onProgress() {},
    model: config.connections[0]?.models[0]?.id,
  });
  return { config, results };
}

for (
  const [name, provider] of Object.entries<FakeProvider>(FAKE_PROVIDERS)
) {
  Deno.test(`check --try shows the working features of ${name}, and translates nothing that it rejects`, async () => {
    const { results } = await tryPreset(name, provider);
    const words = results.filter(({ trial }) => trial === "a word");
    assert.ok(words.length > 0);
    for (const { protocol, result, reason } of words) {
      assert.notEqual(result, "refused", `${protocol}: ${reason}`);
    }
    // A caller who asks about a picture would miss it, so a model of text alone refuses it.
    const refused = results.filter(({ mode, result, trial }) =>
      mode === "translated" && result === "refused" && trial !== "a picture"
    );
    assert.deepEqual(
      refused.map(({ protocol, trial, reason }) =>
        `${protocol}, ${trial}: ${reason}`
      ),
      [],
    );
  });
}
