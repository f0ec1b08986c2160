import assert from "node:assert/strict";
import { isJsonObject } from "../../../../src/base/json.ts";
import { CODECS } from "../../../../src/codecs/mod.ts";
import { withWait } from "../../../../src/gateway/relay/answer_failure.ts";
import { NOW_MS } from "../../../support/gateway/config.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import { parseYaml } from "../../../support/yaml.ts";

const PATH = new URL(
  "../../../fixtures/reported_failures.yaml",
  import.meta.url,
);

/** Refusals that other projects have reported. */
const REPORTS = parseYaml(Deno.readTextFileSync(PATH), { schema: "core" });

Deno.test("every protocol decodes each reported refusal to the expected kind and wait", () => {
  assert.ok(Array.isArray(REPORTS) && REPORTS.length >= 100);
  for (const report of REPORTS) {
    assert.ok(isJsonObject(report));
    const { service, status, kind, or, wait, headers, source, body } = report;
    const name = `${service}: ${JSON.stringify(body)}`;
    assert.ok(typeof status === "number", name);
    assert.match(String(source), /^https:\/\//, name);
    const kinds: unknown[] = [kind, or];
    if (kind === "rate_limited") kinds.push("overloaded");
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(status, body);
      const read = withWait(failure, NOW_MS);
      assert.ok(
        kinds.includes(read.kind),
        `${protocol}: ${read.kind}, ${name}`,
      );
      if (headers !== undefined) continue;
      const waitMs = typeof wait === "number" ? 1000 * wait : undefined;
      const offMs = Math.abs((read.retryAfterMs ?? 0) - (waitMs ?? 0));
      assert.ok(offMs <= 1, `${protocol}: ${read.retryAfterMs}, ${name}`);
    }
  }
});
