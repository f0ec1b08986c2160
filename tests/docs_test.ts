import assert from "node:assert/strict";
import { z } from "zod";
import manifest from "../deno.json" with { type: "json" };
import { createGateway } from "../src/gateway/app.ts";
import { createLiveConfig } from "../src/gateway/config/live_config.ts";
import { systemClock } from "../src/base/time/timers.ts";
import { randomIds } from "../src/base/ids.ts";
import { CLIENTS as PROGRAMS } from "./clients/programs.ts";
import { OTHER_PROGRAMS } from "./clients/other_programs.ts";
import { PYTHON_SDKS } from "./clients/python_sdks.ts";
import { SEEN_FAILURES } from "./clients/seen_failures.ts";
import { readSeenRows } from "./clients/seen_table.ts";
import { COMMANDS } from "../src/tools/mod.ts";
import { demoConfigText } from "../src/tools/demo/config.ts";
import { createDemoUpstream } from "../src/tools/demo/upstream.ts";
import { PROTOCOL_NAMES } from "../src/page/wording/protocols.js";
import { CLIENTS } from "../src/page/wording/settings.js";
import { VERSION } from "../src/base/version.ts";
import { sha256Hex } from "../src/base/sha256.ts";
import { createLog } from "../src/gateway/observe/log.ts";
import {
  configOf,
  loadText,
  minimalConfig,
  minimalFile,
} from "./support/gateway/config.ts";
import {
  includedFaults,
  schemaFaults,
} from "./support/gateway/config_schema.ts";
import { COMMAND_TASKS } from "./reference/pages.ts";
import { readPages } from "./support/program/pages.ts";
import { parseYaml, yamlObject } from "./support/yaml.ts";

const pages = await readPages();
const documentation = [...pages.values()].join("\n");

/** A text that passes as a certificate and as a key. */
const PEM = "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n";

/** A configuration that includes a file of the documentation. */
const INCLUDING = JSON.stringify(minimalFile({
  include: ["tokens.d/*.yaml"],
  groups: { berlin: {} },
}));

/** Returns the text of a page, or fails if there is no such page. */
function pageOf(path: string): string {
  const page = pages.get(path);
  assert.ok(page !== undefined, path);
  return page;
}

/** Returns the fenced blocks of a language. */
function blocks(language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm");
  return [...documentation.matchAll(fence)].map(([, text = ""]) => text);
}

Deno.test("every configuration in the documentation is valid", async (t) => {
  const found = blocks("yaml").filter((text) =>
    /^(tokens|include):/m.test(text)
  );
  assert.ok(found.length >= 4);
  for (const [index, text] of found.entries()) {
    await t.step(`configuration ${index + 1}`, async () => {
      const isIncluded = text.startsWith("# tokens.d/");
      const whole = isIncluded ? INCLUDING : text;
      configOf(
        await loadText(whole, {
          env: (name) =>
            name.endsWith("_URI") ? "/v2/credentials/id" : `value-of-${name}`,
          readFile: (path) =>
            Promise.resolve(
              path === "tokens.d/a.yaml"
                ? text
                : path.endsWith(".pem")
                ? PEM
                : "key\n",
            ),
          listFiles: () =>
            Promise.resolve(isIncluded ? ["tokens.d/a.yaml"] : []),
        }),
      );
      const faultsOf = isIncluded ? includedFaults : schemaFaults;
      assert.deepEqual(faultsOf(parseYaml(text, { schema: "core" })), []);
    });
  }
});

Deno.test("every table of the documentation has a line below its header row, and no gap between rows", () => {
  for (const [path, text] of pages) {
    // A renderer shows other rows as plain text.
    const tables = text.replace(/^```[^]*?^```$/gm, "").matchAll(
      /(?<=^|\n(?!\|).*\n)(?:\|.*\n)+/g,
    );
    for (const [table] of tables) {
      const [, second = ""] = table.split("\n");
      assert.match(second, /^(\| *:?-+:? *)+\|$/, `${path}: ${table}`);
    }
  }
});

/** Matches a model with its price in one mapping. */
const PRICED_REGEXP = /\bid: ([\w.-]+),?\s+price: (\{[^{}]*\})/g;

Deno.test("the prices on every page agree with docs/reference/prices.md", () => {
  const page = pageOf("docs/reference/prices.md");
  const shown = [...documentation.matchAll(PRICED_REGEXP)]
    .map(([, id = "", price = ""]) => ({ id, price: yamlObject(price) }));
  const listed = blocks("yaml").filter((text) => page.includes(text))
    .flatMap((text) => listedSchema.parse(parseYaml(text)).models);
  assert.ok(listed.length > 10);
  const isListed = (id: string) => listed.some((model) => model.id === id);
  assert.ok(shown.filter(({ id }) => isListed(id)).length > 5);
  for (const { id, price } of shown) {
    const model = listed.find((one) => one.id === id);
    if (model !== undefined) assert.partialDeepStrictEqual(model.price, price);
  }
});

const listedSchema = z.object({
  models: z.array(z.object({ id: z.string(), price: z.looseObject({}) })),
});

Deno.test("the table of clients has a row for each client of setup, with its file and protocol", () => {
  const rows = [...pageOf("docs/clients.md").matchAll(/^\| `([^`]+)` .*$/gm)];
  assert.deepEqual(rows.map(([, id]) => id), CLIENTS.map(({ id }) => id));
  for (const [index, { settings, protocols }] of CLIENTS.entries()) {
    const [row = ""] = rows[index] ?? [];
    const { title } = settings({ base: "", model: "", models: [] });
    if (/[.]/.test(title)) assert.ok(row.includes(`\`${title}\``), row);
    const spoken = protocols.map((one) => PROTOCOL_NAMES[one]).join(", ");
    assert.ok(row.includes(` ${spoken} `), row);
  }
});

Deno.test("the tables of texts that clients print have a row for each failure and each client of task test:clients", () => {
  const clients = [
    ...new Set(PROGRAMS.map(({ name }) => name.replace(/ over .*$/, ""))),
    ...PYTHON_SDKS.map(({ name }) => name),
  ];
  const others = OTHER_PROGRAMS.map(({ name }) => name);
  assert.deepEqual(
    readSeenRows(pageOf("docs/reference/messages.md"))
      .map(({ failure, client }) => `${failure}: ${client}`),
    Object.entries(SEEN_FAILURES).flatMap(([failure, seen]) =>
      [...seen.clients ?? clients, ...seen.isForOthers ? others : []]
        .map((client) => `${failure}: ${client}`)
    ),
  );
});

Deno.test("the changelog begins with unreleased changes or this version, and ends with the section on its form", () => {
  const headings = [...pageOf("CHANGELOG.md").matchAll(/^## (.*)$/gm)]
    .map(([, text = ""]) => text);
  if (headings[0] === "Unreleased") headings.shift();
  assert.match(headings[0] ?? "", /^\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/);
  assert.equal(headings[0]?.split(" ")[0], VERSION);
  assert.equal(headings.at(-1), "The form");
});

/** Matches the version of the gateway's file or image in a command. */
const NAMED_VERSION_REGEXP = /\bmodel-gateway[-:](\d+\.\d+\.\d+)/g;

Deno.test("commands name this version of the executable, and upgrade commands the next version", async () => {
  const [major, minor] = VERSION.split(".").map(Number);
  const next = `${major}.${(minor ?? 0) + 1}.0`;
  const texts = new Map(pages);
  for await (
    const { name } of Deno.readDir(new URL("../packaging", import.meta.url))
  ) {
    const file = new URL(`../packaging/${name}`, import.meta.url);
    texts.set(`packaging/${name}`, await Deno.readTextFile(file));
  }
  const found = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(NAMED_VERSION_REGEXP)].map(([, one]) => ({ path, one }))
  );
  assert.ok(found.length > 5);
  for (const { path, one } of found) {
    if (path === "docs/running.md" && one === next) continue;
    assert.equal(one, VERSION, path);
  }
});

Deno.test("a task with the name of a command runs that command", () => {
  const isCommand = (name: string) =>
    COMMANDS.some(({ spec }) => spec.name === name);
  const tasks = COMMAND_TASKS.filter(({ task }) => isCommand(task));
  assert.ok(tasks.length > 8);
  for (const { task, args } of tasks) assert.equal(args.split(" ")[0], task);
});

Deno.test("every task that the documentation names exists", () => {
  const named = [...documentation.matchAll(/deno(?:@[\d.]+)? task ([\w:]+)/g)]
    .map(([, task = ""]) => task);
  assert.ok(named.length > 5);
  for (const task of named) assert.ok(task in manifest.tasks, task);
});

Deno.test("every file of the source and of the tests that the documentation names exists", async () => {
  const named = [
    ...documentation.matchAll(/`([a-z0-9_]+(?:\/[a-z0-9_]+)*\.ts)`/g),
  ]
    .map(([, path = ""]) => path);
  assert.ok(named.length > 15);
  for (const path of named) {
    const folder = path.startsWith("tests/") ? "../" : "../src/";
    const file = new URL(folder + path, import.meta.url);
    assert.ok((await Deno.stat(file)).isFile, path);
  }
});

Deno.test("the table of source folders in CONTRIBUTING has every folder", async () => {
  for await (
    const { name, isDirectory } of Deno.readDir(
      new URL("../src", import.meta.url),
    )
  ) {
    assert.ok(
      pageOf("CONTRIBUTING.md").includes(
        `| \`${name}${isDirectory ? "/" : ""}\``,
      ),
      name,
    );
  }
});

Deno.test("the command that reads the metrics fits the configuration beside it", async () => {
  const text = blocks("yaml").find((one) =>
    one.startsWith("server:\n  admin:")
  );
  const file = parseYaml(text ?? "");
  assert.ok(typeof file === "object" && file !== null);
  const { admin } = (await minimalConfig({ ...file })).server;
  assert.ok(admin !== undefined && "port" in admin);
  const command = `curl -s http://${admin.host}:${admin.port}/metrics\n`;
  assert.ok(blocks("sh").includes(command), command);
});

Deno.test("every link between the pages leads to a file, and to a heading of it", async (t) => {
  for (const [path, page] of pages) {
    for (const [, target = ""] of page.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      await t.step(`${path}: ${target}`, () => isThere(target, path));
    }
  }
});

Deno.test("the README is short, and links to every page", () => {
  const readme = pageOf("README.md");
  assert.ok(bytesOf(readme) <= 9_000, `${bytesOf(readme)} bytes`);
  for (const path of pages.keys()) {
    if (path === "README.md" || path.startsWith(REFERENCE)) continue;
    assert.ok(readme.includes(`(${path})`), path);
  }
});

/** The folder of the reference, most of which `deno task reference` writes. */
const REFERENCE = "docs/reference/";

Deno.test("every page begins with a line for whom it is and which question it answers", () => {
  for (const [path, text] of pages) {
    if (path === "README.md") continue;
    assert.match(text, /^# .+\n\nFor [^:]+:\s\S/, path);
  }
});

Deno.test("every page has at most 25 KB of prose, and CONTRIBUTING at most 22 KB in all", () => {
  for (const [path, text] of pages) {
    if (path.startsWith(REFERENCE)) continue;
    const prose = text.replace(/^ *```[^]*?^ *```$/gm, "")
      .replace(/^\|.*\n/gm, "");
    assert.ok(bytesOf(prose) <= 25_000, `${path}: ${bytesOf(prose)} bytes`);
  }
  const bytes = bytesOf(pageOf("CONTRIBUTING.md"));
  assert.ok(bytes <= 22_000, `${bytes} bytes`);
});

/** Returns the length of a text in UTF-8. */
function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Matches a number of things that changes with the program. */
const COUNT_REGEXP =
  /(?<![\w./-])(?:[\d,]*\d|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozens|hundreds)(?: of)?\s(?:\w+\s)?(?:tests|commands|options|metrics|services|providers|presets|readers|scenes|alerts|MCP servers)\b/g;

Deno.test("no page states a number of tests, commands or other things that changes with the program", () => {
  for (const [path, text] of pages) {
    const counts = text.match(COUNT_REGEXP) ?? [];
    assert.deepEqual(counts, [], path);
  }
  for (const line of ["of 4,700 tests", "38 MCP servers", "fifty tests"]) {
    assert.match(line, new RegExp(COUNT_REGEXP), line);
  }
});

Deno.test("a page of docs/ links to each page of the reference", () => {
  for (const path of pages.keys()) {
    if (!path.startsWith(REFERENCE)) continue;
    const link = `${path.slice("docs/".length)})`;
    assert.ok([...pages.values()].some((page) => page.includes(link)), path);
  }
});

Deno.test("every heading of the documentation that the source or a test names exists", async (t) => {
  for (const folder of ["src/", "tests/"]) {
    for await (const [path, text] of textsBelow(folder)) {
      const targets = text.match(PLACE_REGEXP) ?? [];
      if (targets.length === 0) continue;
      await t.step(path, async () => {
        for (const target of targets) await isThere(target, "README.md");
      });
    }
  }
});

/** Matches the name of a page in a comment, with or without a heading. */
const PLACE_REGEXP =
  /(?<![\w/.-])(?:docs\/(?:reference\/)?[a-z_]+|tests\/README|release\/README)\.md(?:#[a-z0-9-]+)?/g;

/** Yields the scripts below a folder, by path in the repository. */
async function* textsBelow(folder: string): AsyncGenerator<[string, string]> {
  const root = new URL("../", import.meta.url);
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, root))
  ) {
    const path = folder + name;
    if (isDirectory) yield* textsBelow(`${path}/`);
    else if (/\.[jt]s$/.test(name)) {
      yield [path, await Deno.readTextFile(new URL(path, root))];
    }
  }
}

/** Fails if a link of a page has no target. */
async function isThere(target: string, from: string): Promise<void> {
  const [file = "", anchor] = target.split("#");
  const root = new URL("../", import.meta.url);
  const url = new URL(file, new URL(from, root));
  const path = file === "" ? from : url.href.slice(root.href.length);
  if (anchor === undefined) {
    assert.ok((await Deno.stat(url)).isFile);
    return;
  }
  const headings = [...pageOf(path).matchAll(/^#+ (.*)$/gm)]
    .map(([, text = ""]) => anchorOf(text));
  assert.ok(headings.includes(anchor), headings.join(" "));
}

/** Returns the anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-");
}

const hasCurl = await new Deno.Command("curl", {
  args: ["--version"],
  stdout: "null",
  stderr: "null",
}).output().then(() => true, () => false);

Deno.test({
  name: hasCurl
    ? "every curl line of the documentation is answered by the demo as pasted"
    : "every curl line of the documentation is answered by the demo (ignored: there is no curl here)",
  ignore: !hasCurl,
  async fn(t) {
    const config = configOf(
      await loadText(demoConfigText(sha256Hex("demo-token"))),
    );
    const { handler } = createGateway({
      liveConfig: createLiveConfig(config),
      fetch: createDemoUpstream({
        clock: systemClock,
        ids: randomIds,
        wordMs: 0,
      }),
      log: createLog({ format: "json", now: Date.now, sink: () => {} }),
    });
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      handler,
    );
    try {
      const commands = blocks("sh")
        .flatMap((text) => text.split(/^(?=curl )/m))
        .filter((text) => text.startsWith("curl ") && text.includes(":8787"));
      assert.ok(commands.length >= 5);
      for (const command of commands) {
        const [, path = ""] = command.match(/8787(\S+)/) ?? [];
        await t.step(path, async () => {
          const here = command.replace("8787", String(server.addr.port));
          const { stdout } = await new Deno.Command("bash", {
            args: ["-c", here.replace("curl ", "curl -sS --fail-with-body ")],
          }).output();
          const answer = new TextDecoder().decode(stdout);
          assert.match(answer, ANSWERS[path] ?? /^$/, answer);
        });
      }
    } finally {
      await server.shutdown();
    }
  },
});

/** A sign of a complete response, by path. */
const ANSWERS: Readonly<Record<string, RegExp>> = {
  "/v1/chat/completions": /data: \[DONE\]\n/,
  "/v1/messages": /"stop_reason":"end_turn"/,
  "/v1/responses": /"type":"response\.completed"/,
  "/v1/models": /"object":"list".*"demo-a"/,
  "/v1/limits": /"scope":"provider".*"status":"ok"/,
  "/v1/usage": /"object":"usage","token":"demo".*"used":\d/,
  "/api/v1/usage": /"object":"usage","token":"demo".*"used":\d/,
  "/api/v1/limits": /"scope":"provider".*"status":"ok"/,
};

Deno.test("no page uses a word that CONTRIBUTING rejects", () => {
  for (const [name, text] of pages) {
    const checked = text.replace(/^## The words$[\s\S]*?^## /m, "## ")
      .replace(/^## Sentences$[\s\S]*/m, "");
    const found = checked.match(
      /\b(tell|tells|telling|told|whoever|whichever|anew)\b/i,
    );
    assert.equal(found, null, `${name}: ${found?.[0]}`);
  }
});
