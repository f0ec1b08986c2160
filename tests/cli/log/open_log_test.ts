import assert from "node:assert/strict";
import { openLog } from "../../../src/cli/log/open_log.ts";

/** More than may wait, in characters. */
const TOO_LONG = 8 * 1024 * 1024;

/** What is written when one line was too long for the log. */
async function afterDrop(format: "json" | "text"): Promise<string> {
  let written = "";
  const { log, writer } = openLog({
    write(bytes) {
      written += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
  }, format);
  log.write("listener_lost", { reason: "x".repeat(TOO_LONG) });
  await writer.flush();
  return written;
}

Deno.test("openLog() tells of dropped lines as of everything else: with the time, in the log's format", async () => {
  const { time, ...rest } = JSON.parse(await afterDrop("json"));
  assert.ok(Number.isFinite(Date.parse(time)));
  assert.deepEqual(rest, {
    level: "warn",
    event: "log_lines_dropped",
    count: 1,
  });
  assert.match(
    await afterDrop("text"),
    /^\d{4}-\S+Z warn log_lines_dropped count=1\n$/,
  );
});
