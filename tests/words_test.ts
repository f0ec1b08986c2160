import assert from "node:assert/strict";

// The glossary of CONTRIBUTING gives each word one meaning. These tests hold the exported names to it.

/** An exported name, with its file below `src/`. */
interface Exported {
  readonly file: string;
  readonly name: string;
  readonly isType: boolean;
}

const ROOT = new URL("../", import.meta.url);

const EXPORT_REGEXP =
  /^export (?:abstract |async )*(class|const|function\*?|interface|type) (\w+)/gm;

const IMPORT_REGEXP =
  /(?:import|export) (?:type )?\{([^}]*)\} from "(\.{1,2}\/[^"]+)"/g;

/** A use of a whole file: `import * as`, `import()` and `typeof import()`. */
const WHOLE_FILE_REGEXP = /(?:\* as \w+ from |import\(\s*)"(\.{1,2}\/[^"]+)"/g;

/** The same part of each protocol, with the same name in each. */
const CODEC_REGEXP = /^protocols\/(?:chat|messages|responses)\//;

/** The simulated provider sees requests from the other side, so it has words for them of its own. */
const DEMO = "demo/";

/**
 * The words that once had several meanings: the only files whose exported names may end with them, by the beginning
 * of the path.
 */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  /** An account with a provider. */
  Connection: ["config/", "shared/store/"],
  /** A request of a caller and its response. */
  Exchange: ["relay/"],
  /** The output of a model. */
  Answer: ["protocols/", "relay/"],
  /** A reader of the bytes of an answer. */
  Meter: ["relay/native/"],
  /** A Redis or Valkey server. */
  Store: ["shared/store/"],
  Socket: ["upstream/", "http/server/"],
  /** What comes back over HTTP. */
  Response: ["upstream/", "http/", "relay/", "cli/gateway_client.ts", DEMO],
  /** A message of a conversation. */
  Turn: ["protocols/canonical/", DEMO],
};

async function* files(folder: URL): AsyncGenerator<URL> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* files(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts")) yield new URL(name, folder);
  }
}

const source = new URL("src/", ROOT);

async function exportedNames(): Promise<readonly Exported[]> {
  const found: Exported[] = [];
  for await (const url of files(source)) {
    const text = await Deno.readTextFile(url);
    for (const [, kind = "", name = ""] of text.matchAll(EXPORT_REGEXP)) {
      const isType = ["class", "interface", "type"].includes(kind);
      found.push({ file: url.href.slice(source.href.length), name, isType });
    }
  }
  return found;
}

/** The imported names as `file#name`, and `file#*` for a file of which everything is used. */
async function importedNames(
  folders = ["src/", "tests/", "release/"],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const folder of folders) {
    for await (const url of files(new URL(folder, ROOT))) {
      const text = await Deno.readTextFile(url);
      const note = (path: string, name: string) => {
        const { href } = new URL(path, url);
        found.add(`${href.slice(source.href.length)}#${name}`);
      };
      for (const [, names = "", path = ""] of text.matchAll(IMPORT_REGEXP)) {
        for (const name of names.split(",")) {
          note(path, name.trim().replace(/^type /, "").split(" as ")[0] ?? "");
        }
      }
      for (const [, path = ""] of text.matchAll(WHOLE_FILE_REGEXP)) {
        note(path, "*");
      }
    }
  }
  return found;
}

Deno.test("an exported type has a name of its own, except for the same parts of the three codecs", async () => {
  const types = (await exportedNames()).filter(({ file, isType }) =>
    isType && !CODEC_REGEXP.test(file) && !file.startsWith(DEMO)
  );
  assert.ok(types.length > 500);
  const shared = [...Map.groupBy(types, ({ name }) => name)]
    .filter(([, places]) => places.length > 1)
    .map(([name, places]) => `${name}: ${places.map(({ file }) => file)}`);
  assert.deepEqual(shared, []);
});

Deno.test("an exported name that ends with a word of the glossary lives where the word has its meaning", async () => {
  const names = await exportedNames();
  for (const [word, homes] of Object.entries(HOMES)) {
    const found = names.filter(({ name }) => name.endsWith(word));
    assert.notEqual(found.length, 0, word);
    const strangers = found.filter(({ file }) =>
      !homes.some((home) => file.startsWith(home))
    );
    assert.deepEqual(strangers, [], word);
  }
});

Deno.test("another file imports each exported name", async () => {
  const [exported, imported] = await Promise.all([
    exportedNames(),
    importedNames(),
  ]);
  const unused = exported.filter(({ file, name }) =>
    !imported.has(`${file}#${name}`) && !imported.has(`${file}#*`)
  );
  assert.deepEqual(unused, []);
});

/** The exports that only tests import. */
const FOR_TESTS: readonly string[] = [
  // The documentation's tables are held to these lists.
  "observe/facts.ts#FAILURES",
  "observe/facts.ts#MOVES",
  "observe/facts.ts#CACHE_MISSES",
  "observe/facts.ts#WAITS",
  "observe/log_events.ts#LOG_EVENTS",
  // Each row of these tables is held to its examples and sources.
  "protocols/canonical/failure/context_overflow.ts#OVERFLOW_ROWS",
  "protocols/dialects/claude_models.ts#CLAUDE_MODELS",
  "protocols/dialects/openai_models.ts#OPENAI_MODELS",
  // Files of packaging, clients and the tests' own gateway must agree with these.
  "http/models.ts#CODEX_INSTRUCTIONS",
  // Parts with many cases of their own. This list only shrinks: a new part is tested through its users.
  "cli/log/open_log.ts#createLineWriter",
  "cli/server/listen.ts#tlsFault",
  "cli/usage/command.ts#readUsageOptions",
  "cli/usage/replay_logs.ts#replayLogs",
  "config/load.ts#copyTree",
  "config/resolve/endpoints.ts#readBaseUrl",
  "core/time/turns.ts#EventLoop",
  "demo/answers.ts#estimateTokens",
  "demo/quota/quota.ts#createCreditWindow",
  "http/models.ts#codexCatalogResponse",
  "json_scan/walker.ts#BitStack",
  "observe/read_log.ts#readTextLines",
  "observe/read_log.ts#unpack",
  "protocols/canonical/failure/error_words.ts#plainWords",
  "protocols/canonical/stream/read_frames.ts#EventParser",
  "protocols/canonical/stream/sequence.ts#createSequence",
  "protocols/canonical/tools/restore_tools.ts#createCustomInput",
  "protocols/chat/stream/call_draft.ts#ObjectExtent",
  "protocols/decode_body.ts#wholePart",
  "quotas/codex_quota.ts#codexHeaders",
  "quotas/readers/codex.ts#codexHeaders",
  "quotas/readers/json.ts#valueAt",
  "relay/native/meter.ts#createStreamMeter",
  "relay/native/meter.ts#createBodyMeter",
  "relay/native/meter.ts#measureOutput",
  "relay/native/relay_native.ts#passAnswer",
  "relay/request/body.ts#decompress",
  "relay/request/held_body.ts#spliceBytes",
  "relay/routing/candidate.ts#candidatesFor",
  "relay/translated/request_job.ts#estimateTokens",
  "relay/translated/stream_answer.ts#createTranslatingReader",
  "shared/thread_counts.ts#columnOf",
  "shared/thread_counts.ts#sumOf",
  "shared/thread_counts.ts#sumWithout",
  "shared/thread_counts.ts#addWithin",
  "shared/thread_counts.ts#removeOne",
  "streams/line_buffer.ts#bothEnds",
];

Deno.test("no export has only tests as users, apart from a list that only shrinks", async () => {
  const [exported, imported] = await Promise.all([
    exportedNames(),
    importedNames(["src/", "release/"]),
  ]);
  const found = exported.map(({ file, name }) => ({
    file,
    id: `${file}#${name}`,
  }))
    .filter(({ file, id }) => !imported.has(id) && !imported.has(`${file}#*`))
    .map(({ id }) => id);
  assert.deepEqual(found.sort(), FOR_TESTS.toSorted());
});
