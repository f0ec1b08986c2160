import assert from "node:assert/strict";
import { DECISIONS_FILE, parseDecisions } from "./decisions.ts";
import { compareTable, judge } from "./differences.ts";
import { unzipEntry } from "./unzip.ts";

// The public table itself is never part of a test: it changes every day. Three models of our own stand for it.

const TABLE = {
  "claude-haiku-5-5": {
    litellm_provider: "anthropic",
    mode: "chat",
    supports_assistant_prefill: true,
    supports_sampling_params: false,
    supports_forced_tool_use: true,
    max_output_tokens: 1,
  },
  "moonshot/kimi-k3": {
    litellm_provider: "moonshot",
    mode: "chat",
    reasoning_effort_levels: ["low", "medium", "max"],
  },
  "gpt-6-astra": {
    litellm_provider: "openai",
    mode: "responses",
    supports_none_reasoning_effort: true,
    supports_max_reasoning_effort: true,
  },
  "gpt-image": { litellm_provider: "openai", mode: "image_generation" },
  "other/kimi-k3": { litellm_provider: "other", mode: "chat" },
};

const DIFFERENCES = [
  "anthropic claude-haiku-5-5 output limit: 1, here 128000",
  "anthropic claude-haiku-5-5 prefill: true, here false",
  "moonshot kimi-k3 efforts: +medium -high",
  "openai gpt-6-astra efforts: +none",
];

Deno.test("compareTable() reports each fact that contradicts a row, and no other", () => {
  const { compared, differences } = compareTable(TABLE);
  assert.equal(compared, 3);
  assert.deepEqual(differences, DIFFERENCES);
});

Deno.test("a difference without a decision is undecided, and a decision without a difference is stale", () => {
  const [first = "", ...others] = DIFFERENCES;
  assert.deepEqual(judge(DIFFERENCES, [...others, "gone"]), {
    undecided: [first],
    stale: ["gone"],
  });
  assert.deepEqual(judge(DIFFERENCES, DIFFERENCES), {
    undecided: [],
    stale: [],
  });
});

Deno.test("each decision of the committed file has a reason, and decides each difference once", async () => {
  const decided = parseDecisions(await Deno.readTextFile(DECISIONS_FILE));
  assert.ok(decided.length > 0);
  assert.equal(new Set(decided).size, decided.length);
  assert.throws(() => parseDecisions("- differences: [a]"), /needs a reason/);
});

Deno.test("unzipEntry() returns a file of an archive, and names a missing one", async () => {
  // `echo -n hi > a.txt; zip -0 a.zip a.txt` without its extra fields.
  const name = new TextEncoder().encode("a.txt");
  const data = new TextEncoder().encode("hi");
  const local = new Uint8Array(30);
  new DataView(local.buffer).setUint16(26, name.length, true);
  const directory = new Uint8Array(46);
  const head = new DataView(directory.buffer);
  head.setUint32(0, 0x02014b50, true);
  head.setUint32(20, data.length, true);
  head.setUint16(28, name.length, true);
  const end = new Uint8Array(22);
  const tail = new DataView(end.buffer);
  tail.setUint32(0, 0x06054b50, true);
  tail.setUint32(16, local.length + name.length + data.length, true);
  const archive = new Uint8Array(
    await new Blob([local, name, data, directory, name, end]).arrayBuffer(),
  );
  const found = await unzipEntry(archive, "a.txt");
  assert.equal(new TextDecoder().decode(found), "hi");
  await assert.rejects(unzipEntry(archive, "b.txt"), /has no b\.txt/);
});
