import assert from "node:assert/strict";
import { testNeeding } from "../../support/ignored.ts";
import { until } from "../../support/within.ts";
import {
  createSigner,
  GOOD_CLAIMS,
} from "../../support/gateway/identity_scene.ts";
import { assertKeyless, lastingSecrets, openKeyless } from "./keyless_scene.ts";

testNeeding(
  "one configuration without a secret serves five clouds, and no credential lives for over an hour",
  Deno.build.os !== "linux" &&
    "only Linux shows the environment of a process",
  async () => {
    await using scene = await openKeyless();
    await assertKeyless(scene);
    // Each exchange and each request went through the proxy, over the company's own authority.
    assert.ok(scene.proxy.heads.length >= 2);
    for (const head of scene.proxy.heads) {
      assert.match(head, /^CONNECT localhost:\d+ HTTP\/1\.1\r\n/);
    }
  },
);

Deno.test("the search for lasting secrets finds keys, and tokens that live for over an hour", async () => {
  const { sign } = await createSigner();
  const nowS = Math.floor(Date.now() / 1000);
  const short = await sign({ ...GOOD_CLAIMS, exp: nowS + 3500 });
  const long = await sign({ ...GOOD_CLAIMS, exp: nowS + 7200 });
  const keys = ["sk-ant-api03-0123456789", "AKIAIOSFODNN7EXAMPLE"];
  assert.deepEqual(
    lastingSecrets({ log: `{"a":"${short}"}`, disk: `key: "${long}"` }),
    [`disk: ${long}`],
  );
  assert.deepEqual(
    lastingSecrets({ environment: keys.map((key) => `A=${key}`).join("\n") }),
    keys.map((key) => `environment: ${key}`),
  );
});

Deno.test("200 streams continue while their token is revoked and renewed, and no request fails", async () => {
  await using scene = await openKeyless();
  const { clouds, ask } = scene;
  const streams = await Promise.all(
    Array.from({ length: 200 }, () => ask("google", true)),
  );
  for (const { status } of streams) assert.equal(status, 200);
  await until(() => clouds.streams.length === 200, "all streams");
  const before = clouds.issuers.requests;
  clouds.given.clear();
  const later = await Promise.all(
    Array.from({ length: 40 }, () => ask("google")),
  );
  for (const response of later) {
    assert.equal(response.status, 200, await response.clone().text());
    await response.body?.cancel();
  }
  assert.equal(clouds.issuers.requests, before + 1, "one renewal for all");
  const texts = Promise.all(streams.map((response) => response.text()));
  clouds.end();
  for (const text of await texts) assert.match(text, /data: \[DONE\]\n\n$/);
});
