import assert from "node:assert/strict";
import { describeConfig } from "../../../src/gateway/config/describe.ts";
import { connectionFile } from "../../support/gateway/config.ts";
import { configOptions } from "../../support/gateway/config_options.ts";
import type { Overrides } from "../../support/gateway/option_faults.ts";
import {
  A,
  fileWith,
  JSON_QUOTA,
  load,
  TEAM,
} from "../../support/gateway/option_files.ts";

const CANARY = "canary-0123456789abcdef";

/** Texts with a secret in every possible part, alone, in a list and in a mapping. */
const ATTACKS: readonly unknown[] = [
  CANARY,
  `https://${CANARY}@a.example/v1`,
  `https://u:${CANARY}@a.example/v1?${CANARY}#${CANARY}`,
  `https://a.example/v1?${CANARY}`,
  `https://a.example/${CANARY}`,
  `rediss://u:${CANARY}@a.example/1`,
  `see https://u:${CANARY}@a.example/v1?q=${CANARY}`,
].flatMap((text) => [text, [text], { "x-a": text }, { a: { b: [text] } }]);

/** Returns the options that another option needs beside it, in each possible form. */
function neighboursOf(path: string): readonly Overrides[] {
  if (path.startsWith("alerts.")) return [{ webhook: A }];
  return path.startsWith("connections[].quota.") ? [JSON_QUOTA, TEAM] : [{}];
}

/** Options whose names sound like secrets, and why they are none. */
const NO_SECRETS: Readonly<Record<string, string>> = {
  "server.tls.key": "a path",
  "server.removed_tokens": "one of two words",
  "connections[].headers_drop": "names of betas",
  "connections[].models[].max_output_tokens": "a number",
  ...Object.fromEntries(
    ["connections[].ability.", "connections[].models[].ability."].flatMap(
      (prefix) => [
        [`${prefix}limits.least_output_tokens`, "a number"],
        [`${prefix}limits.most_output_tokens`, "a number"],
        [`${prefix}limits.usual_output_tokens`, "a number"],
        [`${prefix}tools.force`, "one of three words"],
        [`${prefix}settings.cache_key`, "a flag"],
        [`${prefix}settings.max_output_tokens`, "a flag"],
      ],
    ),
  ),
};

Deno.test("check and problems show no secret option, and check shows no secret in a URL", async () => {
  const tried = new Set<string>();
  for (const { path, isLeaf, isSecret } of configOptions()) {
    if (!isLeaf) continue;
    for (const value of ATTACKS) {
      for (const beside of neighboursOf(path)) {
        const result = await load(fileWith(path, value, beside));
        if ("problems" in result) {
          const problems = JSON.stringify(result.problems);
          if (isSecret) {
            assert.ok(!problems.includes(CANARY), `${path}: ${problems}`);
          }
          continue;
        }
        const text = describeConfig(result);
        const isUrl =
          JSON.stringify(value).match(/[@?#]canary|:canary/) !== null;
        if (isSecret) tried.add(path);
        if (!isSecret && !isUrl) continue;
        assert.ok(!text.includes(CANARY), `${path}:\n${text}`);
      }
    }
  }
  const secrets = configOptions().filter(({ isSecret }) => isSecret)
    .map(({ path }) => path);
  assert.ok(secrets.length >= 9);
  assert.deepEqual([...tried].sort(), secrets.sort(), "each was attacked");
});

Deno.test("an option whose name sounds like a secret is secret, or this file has the reason why not", () => {
  const options = configOptions().filter(({ path, isLeaf }) =>
    isLeaf && SECRET_NAME_REGEXP.test(path)
  );
  const unsaid = options.filter(({ path, isSecret }) =>
    !isSecret && NO_SECRETS[path] === undefined &&
    !/\blimits\[\]\.tokens$/.test(path)
  );
  assert.deepEqual(unsaid.map(({ path }) => path), []);
});

/** The last word of a path that sounds like a secret. */
const SECRET_NAME_REGEXP =
  /(?:key|secret|password|tokens?|credential|headers(?:_drop)?|webhook|force)$/;

Deno.test("a secret is hidden in every other option that repeats it", async () => {
  const result = await load({
    connections: [connectionFile({
      auth: { key: CANARY },
      models: [{ id: "a", display_name: `key ${CANARY}` }, "b"],
    })],
  });
  assert.ok("config" in result);
  assert.ok(!describeConfig(result).includes(CANARY));
});
