import assert from "node:assert/strict";
import { CODECS } from "../../src/protocols/mod.ts";
import {
  attemptFailureOf,
  evidenceOf,
  LOG_WORD_BY_KIND,
} from "../../src/relay/attempt_failure.ts";
import { silentUpstream } from "../../src/upstream/failure.ts";

Deno.test("silence is what the gateway waited for in vain, not what an upstream says of its own", () => {
  assert.equal(attemptFailureOf(silentUpstream())?.kind, "silent");
  const body = {
    error: {
      message: "Too late",
      type: "timeout_error",
      code: "upstream_timeout",
    },
  };
  for (const protocol of ["chat", "messages", "responses"] as const) {
    const failure = CODECS[protocol].decodeFailure(504, body);
    assert.equal(evidenceOf(failure).kind, "timeout", protocol);
  }
});

Deno.test("a stream that fell silent is told like any answer that does not come in time", () => {
  const message = "The model's provider fell silent";
  for (const protocol of ["chat", "messages", "responses"] as const) {
    const { status, body } = CODECS[protocol].encodeFailure({
      kind: "silent",
      message,
    }, "req_1");
    assert.equal(status, 504, protocol);
    assert.match(JSON.stringify(body), /"type":"timeout_error"/, protocol);
  }
});

Deno.test("docs/operations.md has every word that the log has for a failure", async () => {
  const page = await Deno.readTextFile(
    new URL("../../docs/operations.md", import.meta.url),
  );
  const row = page.split("\n").find((line) => line.startsWith("| `failure`"));
  const [, , , told = ""] = row?.split("|") ?? [];
  const words = [...told.matchAll(/`(\w+)`/g)].map(([, word]) => word);
  const expected = new Set<string>(Object.values(LOG_WORD_BY_KIND));
  assert.deepEqual(words.sort(), [...expected].sort());
});
