import assert from "node:assert/strict";
import { MARKS, readSentences } from "./support/program/sentences.ts";
import { sourceFiles, sourcePath } from "./support/program/source_files.ts";

// The glossary of CONTRIBUTING gives each word one meaning. These tests hold the exported names to it, and bound the
// number of sentences that may need a second reading.

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
  /(?:import|export|const) (?:type )?\{([^}]*)\} (?:from |=\s+await import\(\s*)"([^"]+)"/g;

/** Matches an import of a whole file: `import * as`, `import()` and `typeof import()`, if it names no parts. */
const WHOLE_FILE_REGEXP =
  /(?:\* as \w+ from |(?<!\} =\s+await )import\(\s*)"([^"]+)"/g;

/** Matches the codecs, whose same parts have the same names. */
const CODEC_REGEXP = /^codecs\/(?:chat|messages|responses)\//;

/** The simulated provider sees requests from the other side, and has its own words for them. */
const DEMO = "tools/demo/";

/** Words that once had several meanings. Only files whose paths begin so may export names that end with the word. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  /** An account with a provider. */
  Connection: ["gateway/config/", "gateway/shared/store/"],
  /** A request of a caller and its response. */
  Exchange: ["gateway/relay/"],
  /** The output of a model. */
  Answer: ["codecs/", "gateway/relay/"],
  /** A reader of the bytes of an answer. */
  Meter: ["gateway/relay/native/"],
  /** A Redis or Valkey server. */
  Store: ["gateway/shared/store/"],
  Socket: ["gateway/upstream/", "http1/"],
  /** A status, headers and a body over HTTP. */
  Response: [
    "http1/",
    "gateway/upstream/",
    "gateway/http/",
    "http1/",
    "page/page.ts",
    "gateway/relay/",
    "tools/gateway_client.ts",
    DEMO,
  ],
  /** A message of a conversation. */
  Turn: ["codecs/canonical/", DEMO],
};

async function exportedNames(): Promise<readonly Exported[]> {
  const found: Exported[] = [];
  for await (const { path, url } of sourceFiles()) {
    const text = await Deno.readTextFile(url);
    for (const [, kind = "", name = ""] of text.matchAll(EXPORT_REGEXP)) {
      const isType = ["class", "interface", "type"].includes(kind);
      found.push({ file: path, name, isType });
    }
  }
  return found;
}

/** Returns the imported names as `file#name`, and `file#*` for an import of a whole file. */
async function importedNames(
  folders = ["src/", "tests/", "release/"],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const folder of folders) {
    for await (
      const { url } of sourceFiles({ folder: new URL(folder, ROOT) })
    ) {
      const text = await Deno.readTextFile(url);
      const note = (specifier: string, name: string) => {
        found.add(`${sourcePath(specifier, url)}#${name}`);
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

Deno.test("each exported type has a unique name, except for the parts that all three codecs have", async () => {
  const types = (await exportedNames()).filter(({ file, isType }) =>
    isType && !CODEC_REGEXP.test(file) && !file.startsWith(DEMO)
  );
  assert.ok(types.length > 500);
  const shared = [...Map.groupBy(types, ({ name }) => name)]
    .filter(([, places]) => places.length > 1)
    .map(([name, places]) => `${name}: ${places.map(({ file }) => file)}`);
  assert.deepEqual(shared, []);
});

Deno.test("an exported name that ends with a word of the glossary is in a folder of that word", async () => {
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
  "gateway/observe/facts.ts#FAILURES",
  "gateway/observe/facts.ts#MOVES",
  "gateway/observe/facts.ts#CACHE_MISSES",
  "gateway/observe/facts.ts#WAITS",
  "gateway/observe/log_events.ts#LOG_EVENTS",
  // Each row of these tables is held to its examples and sources.
  "codecs/canonical/failure/context_overflow.ts#OVERFLOW_ROWS",
  "codecs/dialects/claude_models.ts#CLAUDE_MODELS",
  "codecs/dialects/openai_models.ts#OPENAI_MODELS",
  // Files of packaging, clients and the tests' own gateway must agree with these.
  "gateway/http/models.ts#CODEX_INSTRUCTIONS",
  // Parts with many cases of their own. This list only shrinks: a new part is tested through its users.
  "gateway/process/log/open_log.ts#createLineWriter",
  "services/services.ts#isServiceName",
  "gateway/http/gateway.ts#toResponse",
  "gateway/upstream/failure.ts#shortageOf",
  "http1/client/client.ts#addressOf",
  "http1/deno/listen.ts#keepListening",
  "http1/deno/listen.ts#listen",
  "gateway/process/serve.ts#startWarnings",
  "gateway/process/serve.ts#withOptions",
  "http1/deno/listen.ts#tlsFault",
  "tools/usage/command.ts#readUsageOptions",
  "gateway/observe/open_telemetry.ts#sharedAttributes",
  "gateway/observe/open_telemetry.ts#spanAttributes",
  "gateway/process/replay_logs.ts#replayLogs",
  "gateway/config/load.ts#copyTree",
  "gateway/config/resolve/endpoints.ts#readBaseUrl",
  "base/time/turns.ts#EventLoop",
  "tools/demo/answers.ts#estimateTokens",
  "tools/demo/quota/quota.ts#createCreditWindow",
  "gateway/http/models.ts#codexCatalogResponse",
  "json_scan/walker.ts#BitStack",
  "gateway/observe/read_log.ts#readTextLines",
  "gateway/observe/read_log.ts#unpack",
  "codecs/canonical/failure/error_words.ts#plainWords",
  "codecs/canonical/stream/read_frames.ts#EventParser",
  "codecs/canonical/stream/sequence.ts#createSequence",
  "codecs/canonical/tools/restore_tools.ts#createCustomInput",
  "codecs/chat/stream/call_draft.ts#ObjectExtent",
  "codecs/decode_body.ts#wholePart",
  "gateway/quotas/codex_quota.ts#codexHeaders",
  "gateway/quotas/readers/codex.ts#codexHeaders",
  "gateway/relay/answer_body.ts#endingOf",
  "gateway/relay/native/beginning.ts#createBeginningJudge",
  "gateway/relay/native/meter.ts#createStreamMeter",
  "gateway/relay/native/meter.ts#createBodyMeter",
  "gateway/relay/native/meter.ts#measureOutput",
  "gateway/relay/request/body.ts#decompress",
  "gateway/relay/request/held_body.ts#spliceBytes",
  "gateway/relay/routing/candidate.ts#candidatesFor",
  "gateway/shared/thread_counts.ts#columnOf",
  "gateway/shared/thread_counts.ts#sumOf",
  "gateway/shared/thread_counts.ts#sumWithout",
  "gateway/shared/thread_counts.ts#addWithin",
  "gateway/shared/thread_counts.ts#removeOne",
  "base/streams/line_buffer.ts#bothEnds",
  "tools/mod.ts#readCommit",
];

Deno.test("only the listed exports are used by tests alone", async () => {
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

/** The most sentences with each mark. These numbers only shrink. */
const MOST_MARKED: Readonly<
  Record<
    string,
    Readonly<Record<"documents" | "docstrings" | "titles", number>>
  >
> = {
  "three relative clauses": { documents: 0, docstrings: 3, titles: 0 },
  "that … that … that": { documents: 0, docstrings: 3, titles: 0 },
  "of which": { documents: 0, docstrings: 0, titles: 0 },
  "where it is": { documents: 0, docstrings: 0, titles: 0 },
};

Deno.test("the number of sentences that may be hard to read does not grow", async (t) => {
  const read = await readSentences();
  for (const [mark, isMarked] of Object.entries(MARKS)) {
    for (const kind of ["documents", "docstrings", "titles"] as const) {
      await t.step(`${mark} in ${kind}`, () => {
        assert.ok(read[kind].length > 3_000);
        const marked = read[kind].filter(({ text }) => isMarked(text));
        const most = MOST_MARKED[mark]?.[kind] ?? 0;
        const list = marked.map(({ place, text }) => `${place}: ${text}`);
        assert.ok(marked.length <= most, [marked.length, ...list].join("\n"));
      });
    }
  }
});

Deno.test("a mark matches a sentence of its kind, and no plain sentence", () => {
  const found = (text: string) =>
    Object.entries(MARKS).filter(([, isMarked]) => isMarked(text))
      .map(([mark]) => mark);
  assert.deepEqual(found("A key that a caller who left sent, which is kept."), [
    "three relative clauses",
  ]);
  assert.deepEqual(found("Shows that a text that has that word is long."), [
    "that … that … that",
  ]);
  assert.deepEqual(found("A list of which none is left."), ["of which"]);
  assert.deepEqual(found("The name, where it is known."), ["where it is"]);
  assert.deepEqual(
    found("A conversation that moved stays where it is, so that it fits."),
    [],
  );
});
