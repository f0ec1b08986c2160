import assert from "node:assert/strict";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import { minimalFile } from "../../support/gateway/config.ts";
import { askOnce } from "../../support/gateway/serve.ts";
import { hasProgram } from "../../support/program/has_program.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { startProcess } from "../../support/program/process.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { needing } from "../../support/ignored.ts";
import { until, within } from "../../support/within.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** Mounts a folder at another one, then runs a program that sees it there, as a container does. */
const MOUNTED = [
  "--mount",
  "sh",
  "-c",
  'mount --bind "$1" "$2" && shift 2 && exec "$@"',
  "sh",
];

const canMount = await hasProgram("unshare", [
  ...MOUNTED,
  "/tmp",
  "/tmp",
  "true",
]);

Deno.test({
  ...needing(
    "a configuration and a key that are renamed into a mounted folder take effect",
    !canMount && "nothing may be mounted here",
  ),
  async fn() {
    const directory = await Deno.makeTempDir();
    const [config, mount] = [`${directory}/config`, `${directory}/mount`];
    await Deno.mkdir(config);
    await Deno.mkdir(mount);
    const rename = async (name: string, text: string) => {
      await Deno.writeTextFile(`${config}/.new`, text);
      await Deno.rename(`${config}/.new`, `${config}/${name}`);
    };
    await using upstream = startUpstream(() => Response.json({}));
    const file = (model: string) =>
      JSON.stringify(minimalFile({
        server: { port: 0 },
        connections: [
          familyConnection("A", upstream.url, {
            auth: { key_file: "key" },
            models: ["model-a", model],
          }),
        ],
      }));
    await rename("key", "key-1");
    await rename("gateway.yaml", file("one"));
    const gateway = await startProcess("unshare", {
      args: [
        ...[...MOUNTED, config, mount, Deno.execPath(), "run", "--no-prompt"],
        ...["--allow-net", "--allow-read", "--allow-env", "src/main.ts"],
        ...["serve", "--config", `${mount}/gateway.yaml`],
      ],
      cwd: ROOT,
    });
    const applied = () => gateway.output().split('"config_applied"').length - 1;
    const keyOf = async () => {
      const { status } = await askOnce(gateway.url + PATHS.chat, ask("chat"));
      assert.equal(status, 200);
      const { headers } = await upstream.requests.next();
      return headers.get("authorization");
    };
    try {
      assert.equal(await keyOf(), "Bearer key-1");
      await rename("key", "key-2");
      await until(() => applied() === 1, "the new key");
      assert.equal(await keyOf(), "Bearer key-2");
      await rename("gateway.yaml", file("two"));
      await until(() => applied() === 2, "the new configuration");
    } finally {
      gateway.kill("SIGTERM");
      await within(gateway.ended, "the exit");
      await Deno.remove(directory, { recursive: true });
    }
  },
});
