import assert from "node:assert/strict";
import { ask } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

function askWith(version: string, header = "anthropic-version"): RequestInit {
  const init = ask("messages");
  const headers = new Headers(init.headers);
  headers.delete("anthropic-version");
  if (version !== "") headers.set(header, version);
  return { ...init, headers };
}

Deno.test("the Messages routes accept any date as the version", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const version of ["2023-06-01", "2026-10-21", "1999-12-31"]) {
    const response = await gateway.call("/v1/messages", askWith(version));
    await response.body?.cancel();
    assert.equal(response.status, 200);
    const seen = await upstream.requests.next();
    assert.equal(seen.headers.get("anthropic-version"), version);
  }
});

Deno.test("a missing or malformed version is 400 and named, on every Messages route", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const wrong = ["", "latest", "2023-6-1", "2023-13-45", "20230601"];
  const paths = ["/v1/messages", "/api/anthropic/v1/messages/count_tokens"];
  for (const path of paths) {
    for (const version of wrong) {
      await t.step(`${path}: ${version}`, async () => {
        const response = await gateway.call(path, askWith(version));
        const error = await readError(response, "messages");
        assert.equal(error.status, 400);
        assert.equal(error.type, "invalid_request_error");
        assert.match(error.message, /anthropic-version/);
      });
    }
  }
});

Deno.test("the credential is checked before the version", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const response = await gateway.call("/v1/messages", {
    method: "POST",
    headers: { "x-api-key": "unknown" },
  });
  assert.equal((await readError(response, "messages")).status, 401);
});

Deno.test("another vendor has its own version header and legacy paths", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { messages_vendor: "acme" }),
  );
  const init = askWith("2023-06-01", "acme-version");
  for (const path of ["/v1/messages", "/api/acme/v1/messages"]) {
    const response = await gateway.call(path, init);
    await response.body?.cancel();
    assert.equal(response.status, 200);
  }
  const renamed = await gateway.call("/v1/messages", askWith("2023-06-01"));
  assert.match(
    (await readError(renamed, "messages")).message,
    /acme-version/,
  );
  const gone = await gateway.call("/api/anthropic/v1/messages", init);
  assert.equal((await readError(gone, "messages")).status, 404);
});
