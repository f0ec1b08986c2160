import assert from "node:assert/strict";
import { resolve } from "node:path";
import {
  findFiles,
  loadConfigFile,
} from "../../../src/gateway/process/config_file.ts";
import { formatProblem } from "../../../src/base/problems.ts";
import { hasProgram } from "../../support/program/has_program.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { needing, testNeeding } from "../../support/ignored.ts";
import { within } from "../../support/within.ts";
import {
  configOf,
  connectionFile,
  minimalFile,
  problemsOf,
} from "../../support/gateway/config.ts";
import { steps } from "../../support/steps.ts";
import { openTempFolder } from "../../support/temp_folder.ts";

const env = () => undefined;

async function withDirectory(test: (directory: string) => Promise<void>) {
  await using folder = await openTempFolder();
  const { path: directory } = folder;
  await test(directory);
}

function fileWithKeyAt(keyFile: string): string {
  return JSON.stringify(minimalFile({
    connections: [
      connectionFile({ auth: { scheme: "bearer", key_file: keyFile } }),
    ],
  }));
}

Deno.test("loadConfigFile() finds key files beside the configuration, or at their absolute paths", async () => {
  await withDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/keys`);
    await Deno.writeTextFile(`${directory}/keys/one`, "key-1\n");
    for (const keyFile of ["keys/one", `${directory}/keys/one`]) {
      await Deno.writeTextFile(
        `${directory}/gateway.yaml`,
        fileWithKeyAt(keyFile),
      );
      const result = await loadConfigFile(`${directory}/gateway.yaml`, { env });
      assert.deepEqual(configOf(result).connections[0]?.auth, {
        scheme: "bearer",
        key: "key-1",
      });
    }
  });
});

Deno.test("loadConfigFile() takes variables from the given environment", async () => {
  await withDirectory(async (directory) => {
    const path = `${directory}/gateway.yaml`;
    await Deno.writeTextFile(
      path,
      JSON.stringify(minimalFile({ messages_vendor: "${VENDOR}" })),
    );
    const result = await loadConfigFile(path, {
      env: (name) => name === "VENDOR" ? "vendor-b" : undefined,
    });
    assert.equal(configOf(result).messagesVendor, "vendor-b");
  });
});

Deno.test("loadConfigFile() reports an unreadable file as a problem", async () => {
  await withDirectory(async (directory) => {
    assert.deepEqual(
      problemsOf(await loadConfigFile(`${directory}/none.yaml`, { env })),
      ["file: does not exist."],
    );
    const { missing } = await loadConfigFile("none.yaml", { env });
    assert.equal(missing, resolve("none.yaml"));
    assert.ok(!("missing" in await loadConfigFile(directory, { env })));
    assert.deepEqual(problemsOf(await loadConfigFile(directory, { env })), [
      "file: is a directory.",
    ]);
    const path = `${directory}/latin.yaml`;
    await Deno.writeFile(path, new Uint8Array([0x61, 0x3a, 0xe9]));
    assert.deepEqual(problemsOf(await loadConfigFile(path, { env })), [
      "file: is not UTF-8 text.",
    ]);
  });
});

/** Special files, by kind. Reading one may never begin or never end. */
const SPECIAL_FILES: Readonly<
  Record<string, (path: string) => Promise<Disposable>>
> = {
  "a FIFO": async (path) => {
    const made = await new Deno.Command("mkfifo", { args: [path] }).output();
    assert.ok(made.success);
    return {
      // Opening both ends does not wait, and releases a waiting reader.
      [Symbol.dispose]: () =>
        Deno.openSync(path, { read: true, write: true }).close(),
    };
  },
  "a socket": (path) => {
    const listener = Deno.listen({ transport: "unix", path });
    return Promise.resolve(listener);
  },
  "a link to a device": async (path) => {
    await Deno.symlink("/dev/null", path);
    return { [Symbol.dispose]() {} };
  },
};

/** Each setting that names a file, with a configuration that sets it. */
const NAMED_FILES: Readonly<
  Record<string, (path: string) => Readonly<Record<string, unknown>>>
> = {
  "connections[0].auth.key_file": (path) => ({
    connections: [
      connectionFile({ auth: { scheme: "bearer", key_file: path } }),
    ],
  }),
  "connections[0].quota.key_file": (path) => ({
    connections: [connectionFile({ quota: { kind: "zai", key_file: path } })],
  }),
  "server.tls.cert": (path) => ({
    server: { tls: { cert: path, key: "key.pem" } },
  }),
  "server.tls.key": (path) => ({
    server: { tls: { cert: "cert.pem", key: path } },
  }),
};

Deno.test("findFiles() matches patterns as a shell does, relative to the configuration's folder", async () => {
  await withDirectory(async (directory) => {
    for (const folder of ["tokens.d/inner", "other", ".hidden"]) {
      await Deno.mkdir(`${directory}/${folder}`, { recursive: true });
    }
    const names = ["b.yaml", "a.yaml", ".c.yaml", "d.txt", "inner/e.yaml"];
    for (const name of names) {
      await Deno.writeTextFile(`${directory}/tokens.d/${name}`, "");
    }
    await Deno.writeTextFile(`${directory}/.hidden/f.yaml`, "");
    const both = ["tokens.d/a.yaml", "tokens.d/b.yaml"];
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ["tokens.d/*.yaml", both],
      ["./tokens.d/?.yaml", both],
      ["*/*.yaml", both],
      [
        `${directory}/tokens.d/*.yaml`,
        both.map((one) => `${directory}/${one}`),
      ],
      ["tokens.d/*/*.yaml", ["tokens.d/inner/e.yaml"]],
      [".hidden/*.yaml", [".hidden/f.yaml"]],
      ["other/*.yaml", []],
      ["./tokens.d/absent.yaml", ["tokens.d/absent.yaml"]],
    ];
    for (const [pattern, expected] of cases) {
      const found = await findFiles({ pattern, folder: `${directory}/` });
      assert.deepEqual(found, expected, pattern);
    }
    await assert.rejects(
      findFiles({ pattern: "absent/*.yaml", folder: `${directory}/` }),
      Deno.errors.NotFound,
    );
  });
});

Deno.test("loadConfigFile() returns the patterns and the files of include, so that the caller can watch them", async () => {
  await withDirectory(async (directory) => {
    const path = `${directory}/gateway.yaml`;
    await Deno.mkdir(`${directory}/tokens.d`);
    await Deno.writeTextFile(`${directory}/tokens.d/a.yaml`, "groups: {}");
    await Deno.writeTextFile(`${directory}/b.yaml`, "groups: {}");
    const include = ["tokens.d/*.yaml", "b.yaml"];
    await Deno.writeTextFile(path, JSON.stringify(minimalFile({ include })));
    const read: string[] = [];
    const listed: unknown[] = [];
    configOf(
      await loadConfigFile(path, {
        env,
        onRead: (one) => void read.push(one),
        onList: (...list) => void listed.push(list),
      }),
    );
    assert.deepEqual(read, [
      `${directory}/tokens.d/a.yaml`,
      `${directory}/b.yaml`,
    ]);
    await Deno.remove(`${directory}/tokens.d`, { recursive: true });
    problemsOf(
      await loadConfigFile(path, {
        env,
        onList: (...list) => void listed.push(list),
      }),
    );
    assert.deepEqual(listed.pop(), [
      { pattern: "tokens.d/*.yaml", folder: `${directory}/` },
      undefined,
    ]);
    assert.deepEqual(listed, [
      [{ pattern: "tokens.d/*.yaml", folder: `${directory}/` }, [
        "tokens.d/a.yaml",
      ]],
    ]);
  });
});

const hasNoFifos = Deno.build.os === "windows" && "Windows has no such files";

testNeeding(
  "loadConfigFile() refuses a special file at once, and names the setting",
  hasNoFifos,
  async (t) => {
    const fault = "is a FIFO, a socket or a device, not a regular file";
    for (const [kind, make] of Object.entries(SPECIAL_FILES)) {
      await t.step(kind, () =>
        withDirectory(async (directory) => {
          const path = `${directory}/special`;
          using _made = await make(path);
          const load = async (file: string) =>
            problemsOf(
              await within(
                loadConfigFile(file, { env }),
                "the file's problems",
              ),
            );
          assert.deepEqual(await load(path), [`file: ${fault}.`]);
          const file = `${directory}/gateway.yaml`;
          for (const name of ["cert.pem", "key.pem"]) {
            const label = name === "cert.pem" ? "CERTIFICATE" : "PRIVATE KEY";
            await Deno.writeTextFile(
              `${directory}/${name}`,
              `-----BEGIN ${label}-----\n-----END ${label}-----\n`,
            );
          }
          for (const [place, overrides] of Object.entries(NAMED_FILES)) {
            const text = JSON.stringify(minimalFile(overrides("special")));
            await Deno.writeTextFile(file, text);
            assert.deepEqual(await load(file), [
              `${place}: names a file that ${fault}. Create it, or name another: a path such as keys/anthropic begins at the folder of this file.`,
            ]);
          }
        }));
    }
  },
);

Deno.test({
  ...needing("loadConfigFile() follows links to regular files", hasNoFifos),
  fn: () =>
    withDirectory(async (directory) => {
      await Deno.writeTextFile(`${directory}/key`, "key-1\n");
      await Deno.symlink(`${directory}/key`, `${directory}/key-link`);
      const path = `${directory}/gateway.yaml`;
      await Deno.writeTextFile(path, fileWithKeyAt("key-link"));
      await Deno.symlink(path, `${directory}/link.yaml`);
      const result = await loadConfigFile(`${directory}/link.yaml`, { env });
      assert.deepEqual(configOf(result).connections[0]?.auth, {
        scheme: "bearer",
        key: "key-1",
      });
    }),
});

/** Scripts that pass a program an open descriptor instead of a regular file. */
const OPEN_DESCRIPTORS: Readonly<Record<string, string>> = {
  "a command's output": 'exec "$@" --config <(cat "$FILE")',
  "a pipe": 'cat "$FILE" | "$@" --config /dev/stdin',
};

Deno.test({
  ...needing(
    "check reads a configuration that the shell has opened",
    hasNoFifos,
    !await hasProgram("bash") && "there is no bash here",
  ),
  fn: (t) =>
    withDirectory(async (directory) => {
      const path = `${directory}/gateway.yaml`;
      await Deno.writeTextFile(path, JSON.stringify(minimalFile()));
      const main = fromFileUrl(
        new URL("../../../src/tools/main.ts", import.meta.url),
      );
      const check = [Deno.execPath(), "run", "--allow-all", main, "check"];
      await steps(t, Object.entries(OPEN_DESCRIPTORS), async ([, script]) => {
        const { code, stderr } = await within(
          new Deno.Command("bash", {
            args: ["-c", script, "bash", ...check],
            env: { FILE: path },
          }).output(),
          "the check to end",
        );
        assert.equal(code, 0, new TextDecoder().decode(stderr));
      });
    }),
});

testNeeding(
  "loadConfigFile() refuses an included special file at once",
  hasNoFifos,
  async (t) => {
    for (const [kind, make] of Object.entries(SPECIAL_FILES)) {
      await t.step(kind, () =>
        withDirectory(async (directory) => {
          using _made = await make(`${directory}/special.inc`);
          const path = `${directory}/gateway.yaml`;
          const file = minimalFile({ include: ["*.inc"] });
          await Deno.writeTextFile(path, JSON.stringify(file));
          const result = await within(
            loadConfigFile(path, { env }),
            "the configuration",
          );
          assert.ok("problems" in result);
          assert.deepEqual(result.problems.map(formatProblem), [
            "special.inc: is a FIFO, a socket or a device, not a regular file.",
          ]);
        }));
    }
  },
);
