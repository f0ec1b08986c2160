import assert from "node:assert/strict";
import { identityFile } from "../../support/gateway/identity_scene.ts";
import { statuses } from "./counted.ts";
import type { Scene } from "./stage.ts";

const HOUR_MS = 3600_000;

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** Scenes of tokens and JWTs that expire, and of the issuer of JWTs. */
export const IDENTITY_SCENES: Readonly<Record<string, Scene>> = {
  "a token is rejected from its `expires_at` on": {
    setting: () => ({
      tokens: { alice: { expires_at: "2026-11-23T08:10:00Z" } },
    }),
    async run(stage) {
      await stage.sleep(599_000);
      await stage.served();
      await stage.sleep(1000);
      const one = await stage.ask();
      assert.equal(one.status, 401);
      assert.deepEqual(stage.route(one), []);
      await stage.served({ agent: "bob" });
    },
  },
  "a JWT is accepted for at most a minute after it expires": {
    setting: () => ({ hasIssuer: true }),
    async run(stage) {
      const person = await stage.person("ann", { seconds: 600 });
      await stage.served({ agent: person });
      await stage.sleep(stage.random.pick([100_000, 650_000]));
      await stage.served({ agent: person });
      await stage.sleep(600_000);
      const late = await stage.ask({ agent: person });
      assert.equal(late.status, 401);
      assert.match(late.text, /expired/);
      assert.deepEqual(stage.route(late), []);
      const again = await stage.person("ann", { seconds: 600 });
      await stage.served({ agent: again });
    },
  },
  "a JWT with wrong claims is rejected": {
    setting: () => ({ hasIssuer: true }),
    async run(stage) {
      const nowSeconds = stage.time.now() / 1000;
      const wrong = [
        { aud: "another-service" },
        { iss: "https://login.example.net" },
        { nbf: nowSeconds + 300 },
        { iat: nowSeconds + 300 },
        { exp: nowSeconds - 61 },
        { email: undefined, sub: undefined, preferred_username: undefined },
      ];
      for (const claims of wrong) {
        const one = await stage.ask({
          agent: await stage.person("ann", { claims }),
        });
        const what = JSON.stringify(claims);
        assert([401, 403].includes(one.status ?? 0), `${one.status}: ${what}`);
        assert.deepEqual(stage.route(one), []);
      }
      const forged = await stage.person("ann", { signer: 1, kid: "first" });
      assert.equal((await stage.ask({ agent: forged })).status, 401);
      await stage.served({ agent: await stage.person("ann") });
    },
  },
  "a rotated key is accepted, and a withdrawn key is rejected": {
    setting: () => ({ hasIssuer: true }),
    async run(stage) {
      const { issuer } = stage;
      const before = await stage.person("ann", { seconds: 20_000 });
      const crowd = Array.from(
        { length: 4 },
        () => stage.ask({ agent: before }),
      );
      assert.deepEqual(statuses(await Promise.all(crowd)), [
        200,
        200,
        200,
        200,
      ]);
      assert.equal(issuer.readings, 1, "one reading serves all");
      await stage.sleep(31_000);
      issuer.published = issuer.signers.slice(1, 2);
      const after = await stage.person("ben", { signer: 1 });
      await stage.served({ agent: after });
      assert.equal(issuer.readings, 2, "an unknown key is read at once");
      await stage.served({ agent: before });
      const third = await stage.person("cleo", { signer: 2 });
      for (let count = 0; count < 5; count++) {
        assert.equal((await stage.ask({ agent: third })).status, 401);
      }
      assert.equal(issuer.readings, 2, "unknown keys cause no more readings");
      issuer.published = issuer.signers;
      await stage.sleep(31_000);
      await stage.served({ agent: third });
      issuer.published = issuer.signers.slice(2);
      await stage.sleep(HOUR_MS + 1000);
      assert.equal(
        (await stage.ask({ agent: before })).status,
        401,
        "a withdrawn key is valid for an hour at most",
      );
    },
  },
  "known keys stay valid while the issuer is unavailable": {
    setting: () => ({ hasIssuer: true }),
    async run(stage) {
      const { issuer, random } = stage;
      const known = await stage.person("ann", { seconds: 30_000 });
      await stage.served({ agent: known });
      issuer.mood = random.pick(["refused", "silent", "garbage"] as const);
      await stage.sleep(HOUR_MS / 2);
      const second = await stage.person("ben", { seconds: 30_000 });
      await stage.served({ agent: second });
      await stage.sleep(HOUR_MS);
      const third = await stage.person("cleo", { seconds: 30_000 });
      const refused = await stage.ask({ agent: third });
      assert.equal(refused.status, 503);
      assert(refused.headers?.get("retry-after"));
      const tookMs = (refused.endedMs ?? Infinity) - refused.startedMs;
      assert(tookMs < 5500, "the wait is short");
      const { readings } = issuer;
      const crowd = [stage.ask({ agent: third }), stage.ask({ agent: third })];
      assert.deepEqual(statuses(await Promise.all(crowd)), [503, 503]);
      assert.equal(issuer.readings, readings, "no reading within the pause");
      await stage.served({ agent: known });
      issuer.mood = "keys";
      await stage.sleep(5500);
      await stage.served({ agent: third });
      await stage.served({ agent: known });
      const stranger = await stage.person("dan", { signer: 2 });
      assert.equal((await stage.ask({ agent: stranger })).status, 401);
    },
  },
  "logins are renewed while anonymous clients send sign-in requests in loops": {
    setting: () => ({
      hasIssuer: true,
      file: { identity: [identityFile({ sign_in: { client: "people" } })] },
    }),
    async run(stage) {
      const { issuer, random } = stage;
      const [office, stranger] = ["192.0.2.1", "198.51.100.66"];
      const tokens = Array.from({ length: 20 }, (_, at) => `login-${at}`);
      const renew = async (index: number, peer: string) => {
        const token = tokens[index] ?? "";
        assert(issuer.logins.has(token));
        const form = { grant_type: "refresh_token", refresh_token: token };
        const startedMs = stage.time.elapsedMs();
        assert.equal(
          await stage.signIn(form, peer),
          200,
          `${token} of ${peer}`,
        );
        const tookMs = stage.time.elapsedMs() - startedMs;
        assert(tookMs < 1000, `${token} took ${tookMs} ms`);
        tokens[index] = `${token}+`;
      };
      const everybody = (peer: string) =>
        Promise.all(tokens.map((_, index) => renew(index, peer)));
      for (const token of tokens) issuer.logins.add(token);
      await everybody(office);
      const before = issuer.signIns;
      let isOver = false;
      let sent = 0;
      // The loops may come from the office's own address: an infected machine, or a proxy that the file does not name.
      const from = random.pick([office, stranger]);
      const loops = Array.from({ length: 40 }, async (_, loop) => {
        const kind = random.pick(["start", "poll", "invented", "refused"]);
        while (!isOver) {
          const token = kind === "refused" ? "bad" : `bad-${loop}-${sent++}`;
          await stage.signIn(
            kind === "start"
              ? {}
              : kind === "poll"
              ? { grant_type: DEVICE_GRANT, device_code: token }
              : { grant_type: "refresh_token", refresh_token: token },
            from,
          );
          await stage.sleep(20 + random.below(60));
        }
      });
      try {
        await stage.sleep(5000);
        await everybody(office);
        await stage.sleep(random.below(5000));
        await everybody("203.0.113.7");
      } finally {
        isOver = true;
      }
      await Promise.all(loops);
      const asked = issuer.signIns - before - 2 * tokens.length;
      assert(asked <= 150 + 11 * 8, `the issuer gets ${asked} of the loops`);
    },
  },
  "a caller with thousands of projects does not hide other callers' projects in the log":
    {
      setting: () => ({ file: { server: { attribution: ["x-project"] } } }),
      async run(stage) {
        const projects = async (name: string, count: number) => {
          for (let index = 0; index < count; index++) {
            const agent = stage.agents.find((one) => one.name === name);
            await stage.gateway.handler(
              new Request("https://gateway.example/v1/models", {
                headers: {
                  authorization: `Bearer ${agent?.token}`,
                  "x-project": `${name} ${index}`,
                },
              }),
            );
          }
        };
        const logged = (name: string) =>
          new Set(stage.log.entries.flatMap(({ fields }) => {
            const { token, attribution } = fields;
            return token === name ? Object.values(attribution ?? {}) : [];
          }));
        await projects("alice", 1000 + stage.random.below(200));
        await projects("bob", 100);
        await projects("alice", 100);
        await projects("carol", 100);
        for (const name of ["bob", "carol"]) {
          assert.equal(logged(name).size, 100, `the projects of ${name}`);
          assert(
            !logged(name).has("(other)"),
            `a project of ${name} has no name`,
          );
        }
        assert(
          logged("alice").has("(other)"),
          "the number of names is bounded",
        );
      },
    },
};
