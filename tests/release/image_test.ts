import assert from "node:assert/strict";
import { z } from "zod";
import { hasProgram } from "../support/program/has_program.ts";

const ROOT = new URL("../../", import.meta.url);

const imageSchema = z.object({
  OCIv1: z.object({
    config: z.object({
      User: z.string(),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()),
    }),
  }),
});

/** The options that let buildah run without a daemon and in a folder of its own. */
function storeIn(folder: string): readonly string[] {
  return [
    ...["--storage-driver", "vfs"],
    ...["--root", `${folder}/root`, "--runroot", `${folder}/run`],
  ];
}

async function buildah(
  folder: string,
  args: readonly string[],
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("buildah", {
    args: [...storeIn(folder), ...args],
    cwd: folder,
    env: { BUILDAH_ISOLATION: "chroot" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  assert.ok(success, decoder.decode(stderr));
  return decoder.decode(stdout).trim();
}

/** Returns true when buildah is here, and may build as this user. */
async function canBuild(): Promise<boolean> {
  if (!await hasProgram("buildah")) return false;
  const folder = await Deno.makeTempDir();
  const isAble = await hasProgram("buildah", [
    ...storeIn(folder),
    ...["from", "scratch"],
  ]);
  await Deno.remove(folder, { recursive: true });
  return isAble;
}

const ignore = !await canBuild();

Deno.test({
  name: ignore
    ? "buildah builds the image on an empty base (ignored: there is no buildah here)"
    : "buildah builds the image on an empty base",
  ignore,
  async fn() {
    const folder = await Deno.makeTempDir();
    const executable = "dist/release/model-gateway-0.1.0-linux-x64";
    await Deno.mkdir(`${folder}/dist/release`, { recursive: true });
    await Deno.writeTextFile(`${folder}/${executable}`, "an executable");
    const file = await Deno.readTextFile(
      new URL("packaging/Dockerfile", ROOT),
    );
    // The base is on a registry that tests do not reach.
    await Deno.writeTextFile(
      `${folder}/Dockerfile`,
      file.replace(/^FROM .*$/m, "FROM scratch"),
    );
    await buildah(folder, [
      ...["bud", "--quiet", "--format", "docker", "--tag", "gateway"],
      ...["--build-arg", `EXECUTABLE=${executable}`, "."],
    ]);
    const { OCIv1: { config } } = imageSchema.parse(
      JSON.parse(await buildah(folder, ["inspect", "--type=image", "gateway"])),
    );
    assert.deepEqual(config, {
      User: "nonroot:nonroot",
      Entrypoint: ["/usr/local/bin/model-gateway"],
      Cmd: ["serve", "--host", "0.0.0.0", "--port", "8787"],
    });
    const container = await buildah(folder, ["from", "gateway"]);
    const mount = await buildah(folder, ["mount", container]);
    const [program = ""] = config.Entrypoint;
    const { mode } = await Deno.stat(mount + program);
    assert.equal((mode ?? 0) & 0o777, 0o555);
    await buildah(folder, ["rm", container]);
    await Deno.remove(folder, { recursive: true });
  },
});
