import assert from "node:assert/strict";
import type { JWTPayload } from "jose";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import { minimalConfig } from "../../../support/gateway/config.ts";
import {
  createSigner,
  identityScene,
  keySetOf,
} from "../../../support/gateway/identity_scene.ts";
import { parseYaml } from "../../../support/yaml.ts";

// The examples of docs/reference/identity_providers.md, with claims as each provider sends them.

const root = new URL("../../../../", import.meta.url);
const page = await Deno.readTextFile(
  new URL("docs/reference/identity_providers.md", root),
);
const signer = await createSigner();

/** Returns the YAML in a section of the page. */
function exampleOf(heading: string): JsonObject {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [, text = ""] = /^```yaml\n([^]*?)^```$/m.exec(section) ?? [];
  const example = parseYaml(text, { schema: "core" });
  assert.ok(isJsonObject(example));
  return example;
}

async function claimsOf(name: string): Promise<JWTPayload> {
  const file = new URL(`tests/fixtures/identity/${name}.json`, root);
  return JSON.parse(await Deno.readTextFile(file));
}

interface Example {
  readonly heading: string;
  /** The name of the caller, without the issuer. */
  readonly caller: string;
  /** Claims to which the first rule does not apply. */
  readonly outsider: JWTPayload;
  /** The concurrent requests that another rule allows them; absent when the result is a 403. */
  readonly otherwise?: number;
}

const EXAMPLES: Readonly<Record<string, Example>> = {
  okta: {
    heading: "Okta",
    caller: "alice@acme.example",
    outsider: { groups: ["Everyone"] },
  },
  entra: {
    heading: "Microsoft Entra ID",
    caller: "a1b2c3d4-1111-4222-8333-444455556666",
    outsider: { roles: undefined },
  },
  keycloak: {
    heading: "Keycloak",
    caller: "alice",
    outsider: { realm_access: { roles: ["offline_access"] } },
    otherwise: 4,
  },
  google: {
    heading: "Google",
    caller: "alice@acme.example",
    outsider: { hd: undefined },
  },
  github: {
    heading: "GitHub Actions",
    caller: "octo-org/octo-repo",
    // Any workflow may request any audience.
    outsider: { repository_owner_id: "66" },
  },
  gitlab: {
    heading: "GitLab CI",
    caller: "acme/app",
    // GitLab writes it as a text.
    outsider: { ref_protected: "false" },
    otherwise: 2,
  },
};

for (const [name, example] of Object.entries(EXAMPLES)) {
  const { heading, caller, outsider, otherwise } = example;

  Deno.test(`the documented configuration for ${heading} accepts its tokens and finds its keys`, async () => {
    const claims = await claimsOf(name);
    const scene = await identityScene((url, signal) =>
      url.endsWith("/.well-known/openid-configuration")
        ? Promise.resolve(
          Response.json({ issuer: claims.iss, jwks_uri: "https://keys.test/" }),
        )
        : keySetOf(signer)(url, signal)
    );
    const config = await minimalConfig(exampleOf(heading));
    const found = await scene.identity
      .callerOf(await signer.sign(claims), config);
    assert.equal(found.name, `${caller} (${claims.iss})`);
    assert.equal(found.maxConcurrent, 256);
    assert.deepEqual(scene.requested, [
      `${claims.iss}/.well-known/openid-configuration`,
      "https://keys.test/",
    ]);
    const other = await signer.sign({ ...claims, ...outsider });
    const second = scene.identity.callerOf(other, config);
    if (otherwise === undefined) {
      await assert.rejects(second, { kind: "forbidden" });
    } else assert.equal((await second).maxConcurrent, otherwise);
  });
}
