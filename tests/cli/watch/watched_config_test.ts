import assert from "node:assert/strict";
import { createWatchedConfig } from "../../../src/cli/watch/watched_config.ts";
import { connectionFile, minimalFile } from "../../support/gateway/config.ts";
import { within } from "../../support/within.ts";

/** Loads a file that has a problem, and expects the problem's end to be noticed. */
async function expectNotice(
  { file, problem, mend }: {
    readonly file: unknown;
    readonly problem: RegExp;
    readonly mend: (directory: string) => Promise<void>;
  },
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/gateway.yaml`;
  await Deno.writeTextFile(path, JSON.stringify(file));
  const watched = createWatchedConfig(path, () => undefined);
  const noticed = Promise.withResolvers<void>();
  try {
    const first = await watched.load();
    assert.ok("problems" in first);
    assert.match(JSON.stringify(first.problems), problem);
    watched.watch(noticed.resolve);
    await mend(directory);
    await within(noticed.promise, "the watch to notice the change");
    const second = await watched.load();
    assert.ok("config" in second);
  } finally {
    await watched.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("a folder of include that appears later is noticed", async () => {
  await expectNotice({
    file: minimalFile({ include: ["tokens.d/*.yaml"] }),
    problem: /names a folder that does not exist/,
    mend: (directory) => Deno.mkdir(`${directory}/tokens.d`),
  });
});

Deno.test("an included file that appears later is noticed", async () => {
  await expectNotice({
    file: minimalFile({ include: ["staff.yaml"] }),
    problem: /does not exist/,
    mend: (directory) =>
      Deno.writeTextFile(`${directory}/staff.yaml`, "tokens: []\n"),
  });
});

Deno.test("a key file that appears later is noticed", async () => {
  await expectNotice({
    file: minimalFile({
      connections: [
        connectionFile({ auth: { scheme: "bearer", key_file: "keys/a" } }),
      ],
    }),
    problem: /names a file that does not exist/,
    async mend(directory) {
      await Deno.mkdir(`${directory}/keys`);
      await Deno.writeTextFile(`${directory}/keys/a`, "key-1\n");
    },
  });
});
