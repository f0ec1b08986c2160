import assert from "node:assert/strict";
import type { QuotaConfig } from "../../../../src/gateway/config/config.ts";
import { QUOTA_KINDS } from "../../../../src/services/quota_kinds.ts";
import { readerOf } from "../../../../src/gateway/quotas/readers/mod.ts";
import type { QuotaRequest } from "../../../../src/gateway/quotas/readers/reader.ts";
import { fixture, KEY, sourceOf } from "../quota_case.ts";
import { steps } from "../../../support/steps.ts";

/** Kinds with their own setting for the quota's address. */
const WITHOUT_OWN_ADDRESS: ReadonlySet<string> = new Set(["json", "copilot"]);

const KINDS = QUOTA_KINDS.filter((kind) => kind !== "none");

/** Returns every call that a reader makes for a connection at this host. */
function callsOf(kind: QuotaConfig["kind"], base: string): QuotaRequest[] {
  const source = sourceOf(kind, { base });
  const { poll } = readerOf(source.quota);
  if (poll === undefined) return [];
  const bodies = [fixture("litellm/key")];
  return [
    ...poll.requests(source),
    ...(poll.followUps?.(bodies, source) ?? []),
  ];
}

Deno.test("every kind of quota has an endpoint, headers or both", () => {
  for (const kind of KINDS) {
    const reader = readerOf(sourceOf(kind).quota);
    assert.ok(reader.poll ?? reader.headers, kind);
  }
});

Deno.test("readers contact only the connection's host, with only the connection's credential", async (t) => {
  const base = "https://inside.example:8443/some/v1";
  await steps(
    t,
    KINDS.filter((one) => !WITHOUT_OWN_ADDRESS.has(one)),
    (kind) => {
      for (const { url, headers } of callsOf(kind, base)) {
        assert.equal(new URL(url).origin, "https://inside.example:8443");
        const { authorization } = headers;
        if (authorization === undefined) continue;
        assert.ok([KEY, `Bearer ${KEY}`].includes(authorization));
      }
    },
  );
});
