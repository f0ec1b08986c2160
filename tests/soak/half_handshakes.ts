import { fromFileUrl } from "../support/program/paths.ts";
import { testCertificate } from "../support/upstream/test_certificate.ts";
import { until } from "../support/within.ts";
import { pause } from "./ask.ts";
import { askOthers, judgeImpact } from "./others.ts";
import { startUpstream } from "./scene.ts";
import { startSharedGateway } from "./shared_gateway.ts";
import type { SoakOptions } from "./soak_options.ts";

const MAX_DESCRIPTORS = 256;

/** The number of handshakes: more than the gateway has descriptors. */
const HALF_HANDSHAKES = 400;

/** The most handshakes that may stay open, and the time in which the gateway ends the others. */
const MAX_KEPT = 32;
const HANDSHAKE_MS = 35_000;

/** The first message of a client, which lacks its end. */
const HALF_HELLO = Uint8Array.of(0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3);

const OTHERS = 200;

const CERTIFICATES = fromFileUrl(new URL("../fixtures/tls/", import.meta.url));

/** Holds half-open TLS handshakes, more than the gateway has descriptors, beside usual requests. */
export async function soakHalfHandshakes(
  { findings, effort }: SoakOptions,
): Promise<void> {
  await using upstream = await startUpstream("upstream");
  await using gateway = await startSharedGateway({
    url: upstream.url,
    tokens: ["other"],
    maxDescriptors: MAX_DESCRIPTORS,
    tls: { cert: `${CERTIFICATES}cert.pem`, key: `${CERTIFICATES}key.pem` },
  });
  using client = Deno.createHttpClient({
    caCerts: [testCertificate.cert],
    poolMaxIdlePerHost: 0,
  });
  const others = {
    url: `https://localhost:${gateway.port}`,
    headers: () => gateway.headersOf("other"),
    client,
  };
  let open = HALF_HANDSHAKES;
  using half = new DisposableStack();
  for (let count = 0; count < HALF_HANDSHAKES; count++) {
    const socket = half.use(
      await Deno.connect({ hostname: "127.0.0.1", port: gateway.port }),
    );
    if (count % 2 === 0) await socket.write(HALF_HELLO);
    socket.read(new Uint8Array(1)).catch(() => null).then(() => open--);
  }
  // At first, a new connection may still be reset.
  await until(
    async () => (await askOthers({ ...others, count: 1 })).refused.length === 0,
    "a caller to be served",
  );
  const count = Math.ceil(OTHERS * effort);
  const impact = await askOthers({ ...others, count });
  judgeImpact("Half handshakes", impact, findings);
  await pause(HANDSHAKE_MS);
  findings.note(
    `${HALF_HANDSHAKES} half handshakes with ${MAX_DESCRIPTORS} descriptors`,
    `${open} held after ${HANDSHAKE_MS / 1000} s; others took at most ${
      impact.longestMs.toFixed(0)
    } ms`,
  );
  if (open > MAX_KEPT) {
    findings.fail(`${open} half handshakes are held after their time`);
  }
}
