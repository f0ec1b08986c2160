import assert from "node:assert/strict";
import type { ModelFacts } from "../../../src/gateway/catalog/model_facts.ts";
import { listedModels } from "../../../src/gateway/config/assignment.ts";
import {
  CODEX_INSTRUCTIONS,
  codexCatalogResponse,
} from "../../../src/gateway/http/models.ts";
import { ownCodexEntry } from "../../../src/gateway/http/codex_models.ts";
import packed from "../../../src/gateway/http/codex_models.json" with {
  type: "json",
};
import { CLIENTS } from "../../clients/programs.ts";
import type { KnownModel } from "../../../src/gateway/http/model_entry.ts";
import { connectionFile, minimalConfig } from "../../support/gateway/config.ts";

const VERSION = "0.169.0";

/** Returns models of one connection with the same facts. */
async function models(
  names: readonly (string | Readonly<Record<string, unknown>>)[],
  facts: ModelFacts = {},
  connection: Readonly<Record<string, unknown>> = {},
): Promise<KnownModel[]> {
  const config = await minimalConfig({
    connections: [connectionFile({ models: names, ...connection })],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  return [...listedModels(caller, config)].map(([name, deployments]) => ({
    name,
    deployments,
    facts,
  }));
}

async function catalogOf(
  known: readonly KnownModel[],
  version = VERSION,
): Promise<Record<string, unknown>[]> {
  const response = await codexCatalogResponse(known, version);
  assert.equal(response.headers.get("content-type"), "application/json");
  const { models, ...rest } = await response.json();
  assert.deepEqual(rest, {});
  return models;
}

const PLAIN = {
  slug: "a",
  display_name: "a",
  priority: 0,
  visibility: "list",
  supported_in_api: true,
  upgrade: null,
  base_instructions: CODEX_INSTRUCTIONS,
  shell_type: "default",
  supported_reasoning_levels: [],
  supports_reasoning_summaries: false,
  support_verbosity: false,
  supports_parallel_tool_calls: false,
  truncation_policy: { mode: "bytes", limit: 10_000 },
  experimental_supported_tools: [],
};

Deno.test("an entry has every field that Codex requires, and omits unknown facts", async () => {
  assert.deepEqual(await catalogOf(await models(["a", "b"])), [
    PLAIN,
    { ...PLAIN, slug: "b", display_name: "b", priority: 1 },
  ]);
});

Deno.test("an entry has the context, the inputs and the efforts of a model", async () => {
  const [entry] = await catalogOf(
    await models(["a"], {
      displayName: "Model A",
      contextWindow: 200_000,
      input: { text: true, image: true, pdf: true, audio: true },
      reasons: true,
      efforts: ["low", "max"],
    }),
  );
  assert.deepEqual(entry, {
    ...PLAIN,
    display_name: "Model A",
    context_window: 200_000,
    // Older versions know no other kinds, and would reject the whole catalog.
    input_modalities: ["text", "image"],
    supports_reasoning_summaries: true,
    supported_reasoning_levels: [
      { effort: "low", description: "Reasoning effort low" },
      { effort: "max", description: "Reasoning effort max" },
    ],
  });
});

Deno.test("an entry shows that a model does not accept images", async () => {
  const [entry] = await catalogOf(
    await models(["a"], { input: { text: true, image: false } }),
  );
  assert.deepEqual(entry?.input_modalities, ["text"]);
});

Deno.test("an older version of Codex gets only the efforts that it knows", async () => {
  const known = await models(["a"], { efforts: ["none", "xhigh", "max"] });
  const efforts = async (version: string) =>
    (await catalogOf(known, version)).flatMap((entry) =>
      [entry.supported_reasoning_levels].flat().map((level) =>
        Object(level).effort
      )
    );
  for (const version of ["0.169.0", "0.170.1", "1.0.0"]) {
    assert.deepEqual(await efforts(version), ["none", "xhigh", "max"]);
  }
  for (const version of ["0.168.9", "0.99.0", "latest", ""]) {
    assert.deepEqual(await efforts(version), ["none", "xhigh"]);
  }
});

Deno.test("an entry of the provider's catalog keeps all fields except names and the fields that the gateway sets", async () => {
  const own = {
    slug: "gpt-6-sol",
    display_name: "GPT-6-Sol",
    priority: 7,
    context_window: 272_000,
    supported_in_api: false,
    upgrade: { model: "gpt-7" },
    visibility: "hide",
    apply_patch_tool_type: "freeform",
    base_instructions: "You are",
    something_new: { a: 1 },
  };
  const [entry] = await catalogOf(
    await models(["sol"], {
      displayName: "Sol",
      contextWindow: 100_000,
      codexEntry: own,
    }),
  );
  assert.deepEqual(entry, {
    ...own,
    slug: "sol",
    display_name: "Sol",
    context_window: 100_000,
    priority: 0,
    supported_in_api: true,
    upgrade: null,
  });
});

Deno.test("every name of a model has an entry, but the picker shows only one name", async () => {
  const known = await models([
    { id: "a", aliases: ["a-2", "a-3"] },
    { id: "b", listed: false, aliases: [{ id: "b-2", listed: true }] },
  ]);
  const entries = await catalogOf(known);
  assert.deepEqual(
    entries.map(({ slug, visibility }) => `${slug}: ${visibility}`),
    ["a: list", "a-2: hide", "a-3: hide", "b-2: list"],
  );
});

Deno.test("a model that is not served in Responses is left out", async () => {
  const messagesOnly = await models(["claude"], {}, {
    family: "B",
    endpoints: { messages: "https://a.example/v1" },
  });
  const entries = await catalogOf([...messagesOnly, ...await models(["a"])]);
  assert.deepEqual(entries.map(({ slug }) => slug), ["a"]);
});

Deno.test("a model that Codex knows keeps all fields of Codex's entry except names and the fields that the gateway sets", async () => {
  const [entry, alias] = await catalogOf(
    await models(
      [
        { id: "gpt-6.1-sol", aliases: ["gpt-latest"] },
        { id: "fast", upstream: "gpt-5.6-luna" },
      ],
      { contextWindow: 100_000, input: { text: true, image: false } },
    ),
  );
  assert.ok(entry && alias);
  const own = await ownCodexEntry("gpt-6.1-sol", VERSION);
  assert.match(String(own?.base_instructions), /^You are Codex, .{20000}/s);
  assert.deepEqual(entry, {
    ...own,
    context_window: 100_000,
    input_modalities: ["text"],
    priority: 0,
    upgrade: null,
  });
  assert.deepEqual(alias, {
    ...entry,
    slug: "gpt-latest",
    priority: 1,
    visibility: "hide",
  });
});

Deno.test("a model with an alias has the entry of its OpenAI model", async () => {
  const [entry] = await catalogOf(
    await models([{ id: "fast", upstream: "gpt-5.6-luna" }]),
  );
  assert.equal(entry?.slug, "fast");
  assert.equal(entry?.display_name, "GPT-5.6-Luna");
  assert.equal(entry?.tool_mode, "code_mode_only");
});

Deno.test("a model that Codex does not know has a plain entry", async () => {
  const known = await models(["gpt-5.5", "gpt-99", "constructor"]);
  const [own, ...others] = await catalogOf(known);
  assert.equal(own?.apply_patch_tool_type, "freeform");
  assert.deepEqual(
    others.map(({ base_instructions: text }) => text),
    [CODEX_INSTRUCTIONS, CODEX_INSTRUCTIONS],
  );
});

Deno.test("a newer OpenAI model has the entry of its nearest relative, with its own name and window", async () => {
  for (
    const [id, relative] of [
      ["gpt-6.3-sol", "gpt-6.2-sol"],
      ["gpt-6.2-sol-2026-11-20", "gpt-6.2-sol"],
      ["gpt-7-luna", "gpt-6-luna"],
      ["gpt-6.3-nova", "gpt-6.2-sol"],
    ] as const
  ) {
    const [entry] = await catalogOf(await models([id]));
    const [known] = await catalogOf(await models([relative]));
    assert.ok(entry && known);
    const { slug, display_name: name, ...rest } = entry;
    assert.deepEqual([slug, name], [id, id]);
    assert.ok(String(rest.base_instructions).length > 10_000);
    for (const [field, value] of Object.entries(rest)) {
      assert.deepEqual(value, known[field], `${id}: ${field}`);
    }
    for (const own of ["context_window", "max_context_window", "description"]) {
      assert.ok(!(own in rest), `${id}: ${own}`);
    }
    const [sized] = await catalogOf(
      await models([id], { contextWindow: 900_000 }),
    );
    assert.equal(sized?.context_window, 900_000);
  }
});

Deno.test("older OpenAI models and models of other companies have a plain entry", async () => {
  const known = await models([
    "gpt-5.1-codex-max",
    "gpt-4.1-mini",
    "gpt-oss-1",
  ]);
  for (const entry of await catalogOf(known)) {
    assert.equal(entry.base_instructions, CODEX_INSTRUCTIONS, `${entry.slug}`);
  }
});

Deno.test("an older Codex gets no entry that it cannot read", async () => {
  for (const version of ["0.168.9", "latest"]) {
    const [entry] = await catalogOf(await models(["gpt-5.5"]), version);
    assert.deepEqual(entry, {
      ...PLAIN,
      slug: "gpt-5.5",
      display_name: "gpt-5.5",
    });
  }
});

Deno.test("Codex's own entries are complete, and come from the version that the client tests run", async () => {
  const codex = CLIENTS.find(({ name }) => name === "Codex CLI");
  assert.equal(packed.version, codex?.source.version);
  const ids = Object.keys(packed.models);
  assert.ok(ids.length > 5);
  for (const id of ids) {
    const entry = await ownCodexEntry(id, VERSION);
    assert.equal(entry?.slug, id);
    const text = JSON.stringify(entry);
    assert.ok(!text.includes("$text") && !text.includes('""'), id);
  }
});

Deno.test("a catalog does not exceed the length that Codex reads", async () => {
  const [small, large, last] = await models(["small", "large", "last"]);
  assert.ok(small && large && last);
  const big = (bytes: number) => ({
    ...large,
    facts: { codexEntry: { base_instructions: "ä".repeat(bytes / 2) } },
  });
  const slugs = async (bytes: number) =>
    (await catalogOf([small, big(bytes), last])).map(({ slug }) => slug);
  assert.deepEqual(await slugs(1_000_000), ["small", "large", "last"]);
  assert.deepEqual(await slugs(1_048_576), ["small", "large", "last"]);
  const [, plain] = await catalogOf([small, big(1_048_576), last]);
  assert.equal(plain?.base_instructions, CODEX_INSTRUCTIONS);
  const many = await models(Array.from({ length: 1000 }, (_, n) => `m-${n}`));
  const kept = (await catalogOf(many)).length;
  assert.ok(kept > 100 && kept < 1000);
  const response = await codexCatalogResponse(
    [small, big(1_000_000), last],
    VERSION,
  );
  const { length } = new Uint8Array(await response.arrayBuffer());
  assert.ok(length > 1_000_000 && length <= 1024 * 1024);
});
