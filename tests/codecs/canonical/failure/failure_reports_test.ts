import assert from "node:assert/strict";
import { isJsonObject } from "../../../../src/base/json.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { withWait } from "../../../../src/gateway/relay/answer_failure.ts";
import { parseYaml } from "../../../support/yaml.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";

const PATH = new URL("../../../fixtures/failure_reports.yaml", import.meta.url);

/** The time until each reset, in milliseconds. */
const HOUR_MS = 3_600_000;

const reports = parseYaml(await Deno.readTextFile(PATH), { schema: "core" });

Deno.test("decodeFailure() finds the kind and the wait of reported failures, in every protocol", async (t) => {
  const rows: unknown = JSON.parse(JSON.stringify(reports));
  assert(Array.isArray(rows) && rows.length >= 80);
  for (const [index, row] of rows.entries()) {
    assert(isJsonObject(row));
    const { by, source, status, body, kind, wait, resets } = row;
    const nowMs = Date.parse(String(resets ?? "2026-01-01")) - HOUR_MS;
    const waitMs = wait === undefined
      ? (resets === undefined ? undefined : HOUR_MS)
      : Math.round(1000 * Number(wait));
    assert.match(String(source), /^https:\/\/|^unnamed$/);
    await t.step(`${index}: ${by}, ${kind}`, () => {
      for (const protocol of PROTOCOLS) {
        const failure = CODECS[protocol].decodeFailure(Number(status), body);
        assert.ok([kind].flat().includes(failure.kind), failure.kind);
        const { retryAfterMs } = withWait(failure, nowMs);
        if (waitMs !== undefined) assert.equal(retryAfterMs, waitMs, protocol);
      }
    });
  }
});
