import { sha256Hex } from "../../src/base/sha256.ts";
import { pause } from "./ask.ts";
import { startGateway } from "./scene.ts";
import type { SoakOptions } from "./soak_options.ts";

const LOOPS = 64;

const PEOPLE = 20;

/** The duration of the loops, in milliseconds. */
const LOOP_MS = 10_000;

/** The issuer's response time, in milliseconds. */
const ISSUER_MS = 100;

/** The most requests of one network that the gateway forwards: at once, and then each second. */
const MOST = { burst: 150, perSecond: 8 };

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

type Form = Readonly<Record<string, string>>;

/** The forms of an anonymous loop, by kind. */
const LOOPED: Readonly<Record<string, (count: number) => Form>> = {
  "starts": () => ({}),
  "invented refresh tokens": (count) => renewal(`bad-${count}`),
  "one refused refresh token": () => renewal("bad"),
};

function renewal(token: string): Form {
  return { grant_type: "refresh_token", refresh_token: token };
}

/** Renews logins while anonymous loops use the sign-in, from their own address and from another one. */
export async function soakSignIn(
  { findings, effort }: SoakOptions,
): Promise<void> {
  for (const [name, formOf] of Object.entries(LOOPED)) {
    await using scene = await open();
    const { send } = scene;
    const people = Array.from(
      { length: PEOPLE },
      (_, index) => `good-${index}`,
    );
    for (const person of people) {
      const form = { grant_type: DEVICE_GRANT, device_code: person };
      if (await send(form) !== 200) findings.fail(`${person} cannot sign in`);
    }
    const before = scene.asked();
    const startMs = performance.now();
    const untilMs = startMs + LOOP_MS * effort;
    let sent = 0;
    const loops = Array.from({ length: LOOPS }, async () => {
      while (performance.now() < untilMs) await send(formOf(sent++));
    });
    await pause(LOOP_MS * effort / 2);
    using elsewhere = Deno.createHttpClient({ localAddress: "127.0.0.2" });
    const known = await Promise.all(people.map((one) => send(renewal(one))));
    const others = await Promise.all(
      people.map((one) => send(renewal(`${one} elsewhere`), elsewhere)),
    );
    await Promise.all(loops);
    const seconds = (performance.now() - startMs) / 1000;
    const asked = scene.asked() - before - 2 * PEOPLE;
    const isGood = (status: number) => status === 200;
    findings.note(
      `sign-in under a loop of ${name}`,
      `${sent} requests, ${asked} of them at the issuer; ` +
        `${known.filter(isGood).length} of ${PEOPLE} logins renewed, ` +
        `${others.filter(isGood).length} of ${PEOPLE} from another address`,
    );
    if (!known.every(isGood) || !others.every(isGood)) {
      findings.fail(`a loop of ${name} keeps logins from their renewal`);
    }
    if (asked > MOST.burst + MOST.perSecond * seconds) {
      findings.fail(`${asked} requests of a loop of ${name} reach the issuer`);
    }
  }
}

/** Starts an issuer that accepts tokens beginning with `good`, and a gateway with a sign-in. */
async function open() {
  let asked = 0;
  const issuer = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, onListen() {} },
    async handler(request) {
      const { pathname, origin } = new URL(request.url);
      if (pathname.endsWith("/openid-configuration")) {
        return Response.json({
          ...{ issuer: origin, jwks_uri: `${origin}/keys` },
          device_authorization_endpoint: `${origin}/device`,
          token_endpoint: `${origin}/token`,
        });
      }
      asked += 1;
      const form = new URLSearchParams(await request.text());
      await pause(ISSUER_MS);
      if (pathname === "/device") return Response.json({ device_code: "code" });
      const token = form.get("device_code") ?? form.get("refresh_token") ?? "";
      return token.startsWith("good")
        ? Response.json({ access_token: "a", refresh_token: token })
        : Response.json({ error: "invalid_grant" }, { status: 400 });
    },
  });
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      connections: [{
        ...{ name: "all", service: "custom", family: "A", models: ["all"] },
        auth: { scheme: "bearer", key: "soak-key" },
        endpoints: { chat: "http://127.0.0.1:9/v1" },
      }],
      tokens: [{ name: "one", sha256: sha256Hex("one"), connections: ["*"] }],
      identity: [{
        issuer: `http://127.0.0.1:${issuer.addr.port}`,
        audience: "model-gateway",
        sign_in: { client: "people" },
        rules: [{ connections: ["*"] }],
      }],
    }),
  );
  const program = await startGateway(file);
  return {
    asked: () => asked,
    /** Sends a form; returns the status. */
    async send(form: Form, client?: Deno.HttpClient): Promise<number> {
      const path = form.grant_type === undefined
        ? "device_authorization"
        : "token";
      const { status, body } = await fetch(`${program.url}/oauth/${path}`, {
        ...{ method: "POST", body: new URLSearchParams(form), client },
      });
      await body?.cancel();
      return status;
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await issuer.shutdown();
      await Deno.remove(file);
    },
  };
}
