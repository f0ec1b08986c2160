import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/core/sha256.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

Deno.test("no request goes to an address that a caller names: the upstream is always the configured one", async (t) => {
  await using elsewhere = startUpstream();
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const host = new URL(elsewhere.url).host;
  for (const protocol of PROTOCOLS) {
    await t.step(protocol, async () => {
      const body = hello(protocol, {
        api_base: elsewhere.url,
        base_url: elsewhere.url,
        custom_host: elsewhere.url,
      });
      const headers = {
        "x-forwarded-host": host,
        "x-original-url": elsewhere.url,
        forwarded: `host=${host}`,
      };
      const answer = await gateway.call(
        PATHS[protocol],
        ask(protocol, body, headers),
      );
      assert.equal(answer.status, 200, await answer.text());
      await upstream.requests.next();
      assert.equal(elsewhere.requests.items.length, 0);
    });
  }
});

Deno.test("a picture's address is forwarded unchanged and never fetched", async (t) => {
  await using elsewhere = startUpstream();
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url), {
    timers: hurriedTimers,
  });
  const url = `${elsewhere.url}/picture.png`;
  const messages = [{
    role: "user",
    content: [{ type: "image_url", image_url: { url } }],
  }];
  for (const model of ["model-a", "model-b", "model-c"]) {
    await t.step(model, async () => {
      const body = hello("chat", { model, messages });
      const answer = await gateway.call(PATHS.chat, ask("chat", body));
      await answer.body?.cancel();
      assert.ok((await upstream.requests.next()).text().includes(url));
      assert.equal(elsewhere.requests.items.length, 0);
    });
  }
});

Deno.test("tokens with the same first 20 or 64 characters are different callers", async (t) => {
  await using upstream = startUpstream();
  for (const shared of [20, 64]) {
    await t.step(String(shared), async () => {
      const names = ["one", "two"];
      const tokens = names.map((name) => `${"x".repeat(shared)}${name}`);
      await using gateway = await startGateway(familiesFile(upstream.url, {
        tokens: tokens.map((token, index) =>
          tokenFile({ name: names[index], sha256: sha256Hex(token) })
        ),
      }));
      const call = async (token: string) => {
        const headers = { authorization: `Bearer ${token}` };
        const answer = await gateway.call(
          PATHS.chat,
          ask("chat", hello("chat"), headers),
        );
        await answer.body?.cancel();
        return answer;
      };
      for (const [index, token] of tokens.entries()) {
        const line = await gateway.lines.of(await call(token));
        assert.equal(line.token, names[index]);
      }
      assert.equal((await call("x".repeat(shared))).status, 401);
    });
  }
});
