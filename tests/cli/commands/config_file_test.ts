import assert from "node:assert/strict";
import { resolve } from "node:path";
import { loadConfigFile } from "../../../src/cli/commands/config_file.ts";
import {
  configOf,
  connectionFile,
  minimalFile,
  problemsOf,
} from "../../support/gateway/config.ts";

const env = () => undefined;

async function withDirectory(test: (directory: string) => Promise<void>) {
  const directory = await Deno.makeTempDir();
  try {
    await test(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function fileWithKeyAt(keyFile: string): string {
  return JSON.stringify(minimalFile({
    connections: [
      connectionFile({ auth: { scheme: "bearer", key_file: keyFile } }),
    ],
  }));
}

Deno.test("loadConfigFile() finds key files beside the configuration, or where they are said to be", async () => {
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

Deno.test("loadConfigFile() makes a problem of a file that cannot be read", async () => {
  await withDirectory(async (directory) => {
    assert.deepEqual(
      problemsOf(await loadConfigFile(`${directory}/none.yaml`, { env })),
      ["file: does not exist"],
    );
    const { missing } = await loadConfigFile("none.yaml", { env });
    assert.equal(missing, resolve("none.yaml"));
    assert.ok(!("missing" in await loadConfigFile(directory, { env })));
    assert.deepEqual(problemsOf(await loadConfigFile(directory, { env })), [
      "file: is a directory",
    ]);
    const path = `${directory}/latin.yaml`;
    await Deno.writeFile(path, new Uint8Array([0x61, 0x3a, 0xe9]));
    assert.deepEqual(problemsOf(await loadConfigFile(path, { env })), [
      "file: is not UTF-8 text",
    ]);
  });
});
