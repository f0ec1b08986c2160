import assert from "node:assert/strict";
import plugin from "./support/lint_plugin.ts";

/** Returns the plugin's messages for a file of `src/`. */
function messages(file: string, source: string): readonly string[] {
  return Deno.lint.runPlugin(plugin, `/repo/src/${file}`, source)
    .map(({ message }) => message);
}

Deno.test("the lint plugin lets a file import its own folder and lower layers", () => {
  const cases: readonly (readonly [file: string, specifiers: string])[] = [
    ["base/a.ts", "./b.ts ./time/c.ts node:zlib @std/yaml/parse"],
    ["base/streams/a.ts", "../b.ts ./c.ts"],
    ["json_scan/scan.ts", "@gateway/base/lookup ./text.ts"],
    ["codecs/canonical/a.ts", "@gateway/base/b ./c.ts"],
    ["codecs/chat/a.ts", "./b.ts ../canonical/c.ts @gateway/base/streams/d"],
    ["codecs/codecs.ts", "./chat/mod.ts ./messages/mod.ts ./canonical/a.ts"],
    ["codecs/mod.ts", "./codecs.ts ./chat/mod.ts"],
    ["http1/deno/a.ts", "../client/b.ts ../server/c.ts ../head.ts"],
    ["page/page.ts", "./browser/main.js ./wording/words.js"],
    ["gateway/relay/native/a.ts", "../attempt.ts ../../upstream/c.ts"],
    ["gateway/quotas/readers/a.ts", "../read.ts ../../config/config.ts zod"],
    ["gateway/relay/a.ts", "../quotas/a.ts ../upstream/b.ts @gateway/codecs"],
    ["gateway/http/router.ts", "itty-router ../relay/a.ts"],
    ["gateway/app.ts", "./http/a.ts @gateway/base/b"],
    ["gateway/process/a.ts", "../app.ts ../http/b.ts ./c.ts @gateway/http1"],
    ["tools/a.ts", "@gateway/gateway/config ./b.ts ./demo/c.ts"],
    ["tools/main.ts", "./mod.ts"],
  ];
  for (const [file, specifiers] of cases) {
    for (const specifier of specifiers.split(" ")) {
      const source = `import { a } from "${specifier}";`;
      assert.deepEqual(messages(file, source), [], `${file}: ${specifier}`);
    }
  }
});

Deno.test("the lint plugin rejects imports of a higher layer and of a neighbour", () => {
  const cases: readonly (readonly [file: string, specifier: string])[] = [
    ["base/a.ts", "./streams/b.ts"],
    ["codecs/canonical/a.ts", "../chat/b.ts"],
    ["codecs/chat/a.ts", "../messages/b.ts"],
    ["codecs/chat/a.ts", "../mod.ts"],
    ["http1/client/a.ts", "../server/b.ts"],
    ["http1/head.ts", "./client/b.ts"],
    ["page/wording/a.ts", "../browser/b.js"],
    ["gateway/config/a.ts", "../observe/b.ts"],
    ["gateway/upstream/a.ts", "../quotas/b.ts"],
    ["gateway/relay/a.ts", "../http/b.ts"],
    ["gateway/http/a.ts", "../app.ts"],
    ["gateway/app.ts", "./process/a.ts"],
    ["tools/demo/a.ts", "../b.ts"],
  ];
  for (const [file, specifier] of cases) {
    const [message = ""] = messages(file, `import { a } from "${specifier}";`);
    assert.match(
      message,
      /^src\/\S+ \(layer \d\) imports src\/\S+ \(layer \d\)/,
    );
    assert.ok(message.includes(file), `${file}: ${specifier}`);
  }
});

Deno.test("the lint plugin rejects imports around a door, and imports of a higher member", () => {
  const around = [
    ["codecs/chat/a.ts", "../../base/b.ts"],
    ["gateway/relay/a.ts", "../../codecs/chat/b.ts"],
    ["tools/a.ts", "../gateway/app.ts"],
    ["base/a.ts", "../codecs/mod.ts"],
  ] as const;
  for (const [file, specifier] of around) {
    const [message = ""] = messages(file, `import { a } from "${specifier}";`);
    assert.match(message, /around its door: import "@gateway\/\w+"$/, file);
  }
  const upwards = [
    ["base/a.ts", "@gateway/codecs"],
    ["codecs/a.ts", "@gateway/http1"],
    ["http1/a.ts", "@gateway/gateway/config"],
    ["gateway/relay/a.ts", "@gateway/tools"],
  ] as const;
  for (const [file, specifier] of upwards) {
    const [message = ""] = messages(file, `import { a } from "${specifier}";`);
    assert.match(message, /: \w+ may import /, `${file}: ${specifier}`);
  }
});

Deno.test("the lint plugin finds every form of import", () => {
  const ways = [
    'import a from "../browser/b.ts";',
    'import "../browser/b.ts";',
    'import type { A } from "../browser/b.ts";',
    'import { type A } from "../browser/b.ts";',
    'export * from "../browser/b.ts";',
    'export { a } from "../browser/b.ts";',
    'export type { A } from "../browser/b.ts";',
    'await import("../browser/b.ts");',
    'type A = import("../browser/b.ts").A;',
    'let a: typeof import("../browser/b.ts");',
  ];
  for (const source of ways) {
    assert.equal(messages("page/wording/a.ts", source).length, 1, source);
  }
  assert.deepEqual(
    messages("page/wording/a.ts", "export { a }; import(a);"),
    [],
  );
});

Deno.test("the lint plugin allows a package and its parts only in certain places", () => {
  const refused = [
    ["itty-router", "gateway/http/gateway.ts"],
    ["zod", "gateway/relay/a.ts"],
    ["zod", "gateway/config/resolve.ts"],
    ["zod", "codecs/chat/request_decode.ts"],
    ["zod/v4", "gateway/relay/a.ts"],
    ["npm:zod@4.6.7", "gateway/relay/a.ts"],
    ["npm:/zod", "gateway/relay/a.ts"],
    ["@prometheus-io/client", "gateway/http/a.ts"],
  ] as const;
  for (const [specifier, file] of refused) {
    const [message = ""] = messages(file, `import a from "${specifier}";`);
    assert.match(message, /may stand only in/, `${file}: ${specifier}`);
  }
  const allowed = [
    ["zod", "gateway/config/schema/config_file.ts"],
    ["zod", "gateway/config/schema/token.ts"],
    ["zod", "codecs/chat/wire.ts"],
    ["zod", "gateway/quotas/readers/kimi.ts"],
    ["zodiac", "gateway/relay/a.ts"],
    ["toString", "gateway/relay/a.ts"],
  ] as const;
  for (const [specifier, file] of allowed) {
    const found = messages(file, `import a from "${specifier}";`);
    assert.deepEqual(found, [], `${file}: ${specifier}`);
  }
});

Deno.test("the lint plugin allows the platform's API only in certain places", () => {
  const uses = [
    "Deno.exit(1);",
    'Deno["exit"](1);',
    "const { env } = Deno;",
    "globalThis.Deno.exit(1);",
    "let signal: Deno.Signal;",
    'if (typeof Deno === "undefined") {}',
  ];
  for (const source of uses) {
    for (
      const file of [
        "base/a.ts",
        "gateway/app.ts",
        "gateway/config/load.ts",
        "http1/client/a.ts",
        "tools/demo/a.ts",
      ]
    ) {
      const [message = ""] = messages(file, source);
      assert.match(message, /^Deno\.\* belongs to/, `${file}: ${source}`);
    }
    for (
      const file of ["tools/main.ts", "http1/deno/a.ts", "gateway/process/b.ts"]
    ) {
      assert.deepEqual(messages(file, source), [], `${file}: ${source}`);
    }
  }
});

Deno.test("the lint plugin rejects races and listeners that outlive their work", () => {
  const lasting = [
    "await Promise.race([a, b]);",
    "const first = Promise.any(list);",
    "const { race } = { race: Promise.race };",
    'signal.addEventListener("abort", stop, { once: true });',
    'signal.addEventListener("abort", () => stop());',
    'a.b.signal.addEventListener("abort", this.#stop);',
  ];
  for (const source of lasting) {
    assert.equal(messages("gateway/relay/a.ts", source).length, 1, source);
  }
  const ending = [
    "await Promise.all([a, b]); await Promise.allSettled([a]);",
    'signal.addEventListener("abort", stop); signal.removeEventListener("abort", stop);',
    'signal.addEventListener("abort", () => stop(), { once: true, signal: ended });',
    'signal.addEventListener("abort", this.#stop); signal.removeEventListener("abort", this.#stop);',
    'worker.addEventListener("message", take);',
  ];
  for (const source of ending) {
    assert.deepEqual(messages("gateway/relay/a.ts", source), [], source);
  }
  const [race = ""] = lasting;
  assert.deepEqual(messages("http1/deno/address_race.ts", race), []);
  assert.deepEqual(
    Deno.lint.runPlugin(plugin, "/repo/tests/a_test.ts", race),
    [],
  );
});

Deno.test("the lint plugin checks layers in src only", () => {
  const source = 'import a from "../src/gateway/http/a.ts"; Deno.exit(1);';
  for (const path of ["/repo/tests/core/a.ts", "/repo/a.ts"]) {
    assert.deepEqual(Deno.lint.runPlugin(plugin, path, source), []);
  }
});

Deno.test("the lint plugin reports a folder without a layer", () => {
  const source = 'import a from "./b.ts";';
  assert.match(messages("new/a.ts", source)[0] ?? "", /stands in no layer/);
  const other = 'import a from "../new/a.ts";';
  assert.match(
    messages("tools/a.ts", other)[0] ?? "",
    /src\/new\/a\.ts stands/,
  );
});

/** Returns the TypeScript files below a folder of `src`, by their paths in it. */
function filesOf(folder: string): string[] {
  const url = new URL(`../src/${folder}`, import.meta.url);
  return [...Deno.readDirSync(url)].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return filesOf(`${folder}${name}/`);
    return name.endsWith(".ts") ? [folder + name] : [];
  });
}

Deno.test("every file of src has a layer", () => {
  const files = filesOf("");
  assert.ok(files.includes("base/protocol.ts"));
  for (const file of files) {
    const itself = `import "./${file.replace(/^.*\//, "")}";`;
    assert.deepEqual(messages(file, itself), [], file);
  }
});

Deno.test("the lint plugin rejects the words of CONTRIBUTING in comments, texts and names", () => {
  const sources = [
    "// It tells the caller.",
    "/** Whoever asks. */",
    'const message = "It was told so.";',
    "const text = `asked anew`;",
    "const told = 1;",
  ];
  for (const source of sources) {
    const [message = ""] = messages("core/a.ts", source);
    assert.match(message, /is not used here: see "The words"/, source);
  }
  for (
    const source of ["// The storyteller retold it.", "const tellers = 1;"]
  ) {
    assert.deepEqual(messages("core/a.ts", source), []);
  }
});

Deno.test("the lint plugin rejects the words in tests, except in tests about the words", () => {
  const found = (file: string) =>
    Deno.lint.runPlugin(plugin, `/repo/tests/${file}`, "// told").length;
  assert.equal(found("support/fakes/clock.ts"), 1);
  assert.equal(found("relay/a_test.ts"), 1);
  assert.equal(found("lint_plugin_test.ts"), 0);
});

Deno.test("the lint plugin finds every use of the platform's client in the source", () => {
  const rejected = [
    `await fetch("https://a.example");`,
    `const tools = { fetch };`,
    `const tools = { fetch: fetch };`,
    `run({ fetch: (url) => fetch(url) });`,
    `export type Fetch = typeof fetch;`,
    `globalThis.fetch("https://a.example");`,
    `self["x"](fetch);`,
    `const client = Deno.createHttpClient({});`,
    `new EventSource("https://a.example");`,
    `import { request } from "node:https";`,
    `function f() { const { a } = b; return fetch(a); }`,
  ];
  for (const source of rejected) {
    const [message = ""] = messages("cli/a.ts", source);
    assert.match(message, /NO_PROXY/, source);
  }
  const allowed = [
    `function f(fetch) { return fetch("https://a.example"); }`,
    `function f({ fetch, ...rest }) { return g({ fetch, ...rest }); }`,
    `const f = async ({ a: { fetch } }, url) => await fetch(url);`,
    `function f(options) { const { fetch } = options; return () => fetch(1); }`,
    `function f(options) { return options.fetch(1); }`,
    `export interface Tools { readonly fetch: Fetch; }`,
    `run({ async fetch(url) { return await send(url); } });`,
  ];
  for (const source of allowed) {
    assert.deepEqual(messages("cli/a.ts", source), [], source);
  }
});
