import assert from "node:assert/strict";
import { fromFileUrl } from "../../support/program/paths.ts";
import { loggedLine } from "../../support/wire/logged_line.ts";
import { needing } from "../../support/ignored.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** Runs `usage` from a shell, with the permissions of the executable. */
async function usage(words: string, directory: string) {
  const program = [
    ...[Deno.execPath(), "run", "--no-prompt"],
    ...["--allow-net", "--allow-read", "--allow-env", "src/main.ts", "usage"],
  ];
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", `"$@" ${words}`, "sh", ...program],
    cwd: ROOT,
    env: { DIRECTORY: directory },
  }).output();
  const decoder = new TextDecoder();
  return {
    code,
    out: decoder.decode(stdout),
    error: decoder.decode(stderr),
  };
}

Deno.test({
  ...needing(
    "usage reads files and standard input as a shell gives them, and ends quietly when nobody reads on",
    Deno.build.os === "windows" && "Windows has no such signals",
  ),
  async fn(t) {
    const directory = await Deno.makeTempDir();
    const log = `${directory}/gateway.jsonl`;
    await Deno.writeTextFile(log, loggedLine().repeat(3));
    const sessions = Array.from(
      { length: 20_000 },
      (_, index) => loggedLine({ session: `session-${index}` }),
    );
    await Deno.writeTextFile(`${directory}/long.jsonl`, sessions.join(""));
    try {
      await t.step("a file", async () => {
        const { code, out, error } = await usage(
          '"$DIRECTORY/gateway.jsonl" --json',
          directory,
        );
        assert.equal(error, "");
        assert.equal(code, 0);
        assert.equal(JSON.parse(out).total.requests, 3);
      });
      await t.step("a file under several names", async () => {
        await Deno.symlink(log, `${directory}/current.jsonl`);
        await Deno.link(log, `${directory}/kept.jsonl`);
        const { code, out, error } = await usage(
          '"$DIRECTORY"/*t*.jsonl "$DIRECTORY/gateway.jsonl" --json',
          directory,
        );
        assert.equal(error, "");
        assert.equal(code, 0);
        assert.equal(JSON.parse(out).total.requests, 3);
      });
      await t.step("standard input", async () => {
        const { code, out } = await usage(
          '- --json < "$DIRECTORY/gateway.jsonl"',
          directory,
        );
        assert.equal(code, 0);
        assert.equal(JSON.parse(out).total.requests, 3);
      });
      await t.step(
        "a file that is not there, and one that is a folder",
        async () => {
          const { code, error } = await usage(
            '"$DIRECTORY/none" "$DIRECTORY"',
            directory,
          );
          assert.equal(code, 1);
          assert.deepEqual(error.split("\n"), [
            `Cannot read ${directory}/none to its end: it does not exist.`,
            `Cannot read ${directory} to its end: it is a directory.`,
            "",
          ]);
        },
      );
      await t.step("a reader who leaves", async () => {
        const { out, error } = await usage(
          '"$DIRECTORY/long.jsonl" --by session --csv | head -n 1',
          directory,
        );
        assert.match(out, /^session,requests,/);
        assert.equal(error, "");
      });
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
