import assert from "node:assert/strict";
import { connectProcess } from "../../support/gateway/store_process.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import {
  startStoreServer,
  storeProgram,
} from "../../support/program/store_server.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { needing } from "../../support/ignored.ts";
import { until } from "../../support/within.ts";

const lack = storeProgram === undefined && "there is no Valkey or Redis here";

const FOLDER = new URL("../../fixtures/tls/", import.meta.url);
const pathOf = (name: string) => fromFileUrl(new URL(name, FOLDER));

Deno.test({
  ...needing(
    "a store is reached with TLS when its certificate is vouched for, and not otherwise",
    lack,
  ),
  async fn() {
    await using server = await startStoreServer([
      ...["--tls-auth-clients", "no"],
      ...["--tls-cert-file", pathOf("cert.pem")],
      ...["--tls-key-file", pathOf("key.pem")],
    ], { isTls: true });
    const { port } = server;
    await using good = await connectProcess({
      ...{ port, tls: true, host: "localhost" },
      ca: testCertificate.cert,
    });
    await good.until("connected");
    await using strange = await connectProcess({
      ...{ port, tls: true, host: "localhost" },
    });
    await until(() => strange.log.entries.length > 0, "the log line");
    assert.deepEqual(strange.log.entries[0]?.fields, {
      failure: "unreachable",
    });
    assert.equal(strange.state.store?.(), "away");
  },
});
