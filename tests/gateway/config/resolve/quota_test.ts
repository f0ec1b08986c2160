import assert from "node:assert/strict";
import type { QuotaConfig } from "../../../../src/gateway/config/config.ts";
import { QUOTA_KINDS } from "../../../../src/services/quota_kinds.ts";
import { readerOf } from "../../../../src/gateway/quotas/readers/mod.ts";
import { sourceOf } from "../../quotas/quota_case.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../../support/gateway/config.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

type Quota = Readonly<Record<string, unknown>>;

const FILES: Readonly<Record<string, string>> = {
  "quota.key": "key-of-the-file\n",
};

function load(quota: Quota): ReturnType<typeof loadFile> {
  const readFile = (path: string) => {
    const text = FILES[path];
    return text === undefined
      ? Promise.reject(new Error("no such file"))
      : Promise.resolve(text);
  };
  const connections = [connectionFile({ quota })];
  return loadFile(minimalFile({ connections }), { readFile });
}

async function resolved(quota: Quota): Promise<QuotaConfig | undefined> {
  return configOf(await load(quota)).connections[0]?.quota;
}

const WINDOW = { type: "CREDIT_LIMIT", unit: "credits", used: "/used" };

/** The beginning of a described window in YAML. */
const USED = "type: CREDIT_LIMIT, unit: credits, used:";

const JSON_QUOTA = {
  kind: "json",
  url: "https://a.example/usage",
  windows: [WINDOW],
};

Deno.test("resolveQuota() accepts a separate key, directly or from a file", async () => {
  const kind = "litellm";
  assert.equal((await resolved({ kind }))?.key, undefined);
  assert.equal((await resolved({ kind, key: "own" }))?.key, "own");
  assert.equal(
    (await resolved({ kind, key_file: "quota.key" }))?.key,
    "key-of-the-file",
  );
});

Deno.test("resolveQuota() rejects an invalid key", async (t) => {
  const path = "connections[0].quota";
  const cases: Readonly<Record<string, readonly [Quota, RegExp]>> = {
    "a key beside a file": [
      { key: "k", key_file: "quota.key" },
      /quota\.key_file: must not be set with key\.$/,
    ],
    "a key with a space": [{ key: "a b" }, /quota\.key: must be a key/],
    "a missing file": [{ key_file: "none" }, /quota\.key_file: /],
  };
  await steps(t, Object.entries(cases), async ([, [fields, expected]]) => {
    const problems = problemsOf(await load({ kind: "litellm", ...fields }));
    assert.equal(problems.length, 1);
    assert.ok(problems[0]?.startsWith(path));
    assert.match(problems[0] ?? "", expected);
  });
});

Deno.test("resolveQuota() reads a description of windows for a service without a reader", async () => {
  const whole = {
    type: "SPEND_LIMIT",
    period: "1mo",
    unit: "USD",
    at: "/data/budgets",
    where: { name: "main", active: true },
    limit: "/limit_cents",
    used: "/used_cents",
    scale: 0.01,
    share: { at: "/left", of: "remaining_fraction" },
    resets_at: { at: "/until", format: "epoch_ms" },
  };
  const own = {
    headers: { "x-account": "1" },
    success: { at: "/code", in: [0, "0", null] },
  };
  const quota = await resolved({
    ...JSON_QUOTA,
    ...own,
    windows: [whole, WINDOW],
  });
  assert.deepEqual(quota?.json, {
    ...own,
    unauthorized: undefined,
    windows: [whole, { ...WINDOW, at: "", scale: 1 }],
  });
});

Deno.test("resolveQuota() reports problems in a description of windows", async (t) => {
  const path = "connections[0].quota";
  const cases = yamlTable(`
no address: { url: <absent> } → url: is missing. \`kind: json\` needs it.
no windows: { windows: <absent> } → windows: is missing. \`kind: json\` needs it.
a pointer without a slash: { windows: [{ ${USED} used }] } → windows[0].used: must be a JSON
  pointer, such as /data/0/used.
a pointer with a bare tilde: { windows: [{ ${USED} /a~2 }] } →
  windows[0].used: must be a JSON pointer, such as /data/0/used.
a period that is none: { windows: [{ ${USED} /used, period: 5 hours }] } →
  windows[0].period: must be total or a length such as 5h, 7d or 1mo.
a header that the gateway sets: { headers: { Host: a } } → headers.Host: is a header that the
  gateway sets itself. Remove it.
a header with a line break: { headers: { x-a: "1\\n2" } } → headers.x-a: must be printable ASCII
  without line breaks or outer spaces.
windows of another kind: { kind: litellm } → windows: is only for \`kind: json\`. Remove it.
`);
  await steps(t, cases, async ([, fields, expected]) => {
    const quota = Object.fromEntries(
      Object.entries({ ...JSON_QUOTA, ...fields })
        .filter(([, value]) => value !== undefined),
    );
    assert.deepEqual(problemsOf(await load(quota)), [`${path}.${expected}`]);
  });
});

Deno.test("resolveQuota() warns about settings that the reader ignores", async (t) => {
  const path = "connections[0].quota";
  const team = "Without it, the quota of a team plan cannot be read.";
  const cases: readonly (readonly [string, Quota, readonly string[]])[] = [
    ["a team without its ids", { kind: "bigmodel", plan: "team" }, [
      `${path}.organization: is missing. ${team}`,
      `${path}.project: is missing. ${team}`,
    ]],
    ["a team with its ids", {
      kind: "zai",
      plan: "team",
      organization: "org-1",
      project: "proj_1",
    }, []],
    ["Copilot without a token", { kind: "copilot" }, [
      `${path}.key: is missing. Copilot reports its quota only to a GitHub OAuth token.`,
    ]],
    ["Copilot with a token", { kind: "copilot", key: "gho_t" }, []],
  ];
  await steps(t, cases, async ([, quota, expected]) => {
    assert.deepEqual(warningsOf(await load(quota)), expected);
  });
});

Deno.test("resolveQuota() rejects a plan for a kind without plans", async (t) => {
  const cases: readonly (readonly [Quota, readonly string[]])[] = [
    [{ kind: "kimi", plan: "team" }, ["plan"]],
    [{ plan: "team" }, ["plan"]],
    [
      { kind: "codex", plan: "team", organization: "o", project: "p" },
      ["plan", "organization", "project"],
    ],
  ];
  for (const [quota, fields] of cases) {
    const { kind = "none" } = quota;
    await t.step(`${kind}: ${fields}`, async () => {
      assert.deepEqual(
        problemsOf(await load(quota)),
        fields.map((field) =>
          `connections[0].quota.${field}: is only for the kinds zai and bigmodel, because ` +
          `\`kind: ${kind}\` has no plans. Remove it.`
        ),
      );
    });
  }
  const good = { plan: "team", organization: "o", project: "p" };
  for (const kind of ["zai", "bigmodel"]) {
    assert.equal((await resolved({ kind, ...good }))?.plan, "team");
  }
});

Deno.test("resolveQuota() warns about an address or a key for a kind without requests", async (t) => {
  const settings = { url: "https://a.example/usage", key: "own" };
  await steps(t, QUOTA_KINDS, async (kind) => {
    const windows = kind === "json" ? { windows: [WINDOW] } : {};
    const quota = { kind, ...settings, ...windows };
    const reader = kind === "none" ? undefined : readerOf(sourceOf(kind).quota);
    const isRead = reader?.poll !== undefined;
    const fields = isRead ? [] : ["url", "key"];
    assert.deepEqual(
      warningsOf(await load(quota)),
      fields.map((field) =>
        `connections[0].quota.${field}: has no effect: \`kind: ${kind}\` sends no request.`
      ),
    );
  });
});
