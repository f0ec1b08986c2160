import assert from "node:assert/strict";
import { statuses } from "./counted.ts";
import type { Scene } from "./stage.ts";

const MINUTE_MS = 60_000;

/** Scenes of providers' short-lived tokens, for which the gateway exchanges the platform's token. */
export const EXCHANGE_SCENES: Readonly<Record<string, Scene>> = {
  "a token is renewed before it expires": {
    setting: () => ({ connections: { a: {} }, exchanges: true }),
    async run(stage) {
      const { issuer } = stage.exchange;
      for (let count = 0; count < 12; count++) {
        await stage.served();
        await stage.sleep(2.5 * MINUTE_MS);
      }
      assert(
        issuer.requests >= 3 && issuer.requests <= 5,
        `${issuer.requests}`,
      );
      const keys = new Set(stage.ledger.map(({ key }) => key));
      assert(keys.size >= 3, "each is used");
      assert.equal(stage.ledger.length, 12, "and none is refused");
    },
  },
  "a revoked token is renewed at once": {
    setting: (random) => ({
      connections: { a: {}, ...random.below(2) === 0 ? {} : { b: {} } },
      exchanges: true,
    }),
    async run(stage) {
      const { issuer } = stage.exchange;
      await stage.served();
      await stage.sleep(11_000);
      issuer.revoke();
      const all = [stage.ask(), stage.ask(), stage.ask({ agent: "bob" })];
      for (const one of await Promise.all(all)) {
        assert.equal(one.status, 200);
        assert.deepEqual(stage.route(one), ["a", "a"]);
      }
      assert.equal(issuer.requests, 2, "one exchange serves all");
      assert.deepEqual(await stage.served(), ["a"], "nothing cools down");
      assert(
        stage.log.entries.every(({ event }) => event !== "cooling_down"),
      );
    },
  },
  "a provider that refuses every token gets at most two attempts a request": {
    setting: () => ({ connections: { a: {} }, exchanges: true }),
    async run(stage) {
      const { issuer } = stage.exchange;
      stage.provider("a").accepts = () => false;
      for (let count = 0; count < 6; count++) {
        const one = await stage.ask();
        assert.equal(one.status, 502);
        assert.match(one.text, /upstream_authentication|refuses/);
        assert(stage.route(one).length <= 2);
      }
      assert(issuer.requests <= 4, `${issuer.requests} exchanges`);
    },
  },
  "an unavailable issuer is tried again until it responds": {
    setting: () => ({ connections: { a: {} }, exchanges: true }),
    async run(stage) {
      const { issuer } = stage.exchange;
      const mood = stage.random.pick(["refused", "silent", "garbage"] as const);
      await stage.served();
      issuer.mood = mood;
      await stage.sleep(9 * MINUTE_MS);
      await stage.served();
      const failures = stage.log.entries.filter(({ event }) =>
        event === "token_not_renewed"
      );
      assert(
        failures.length >= 2 && failures.length < 40,
        `${failures.length}`,
      );
      await stage.sleep(2 * MINUTE_MS);
      const late = await stage.ask();
      assert(late.status !== 200, "its token has ended");
      assert.deepEqual(stage.route(late), [], "it is not sent");
      issuer.mood = "tokens";
      await stage.sleep(1.5 * MINUTE_MS);
      const crowd = [stage.ask(), stage.ask({ agent: "bob" })];
      assert.deepEqual(statuses(await Promise.all(crowd)), [200, 200]);
    },
  },
  "a request keeps its first token while the token is renewed": {
    setting: () => ({ connections: { a: {} }, exchanges: true }),
    async run(stage) {
      stage.plan("a", { fate: "answer", afterMs: 15_000 });
      await stage.sleep(7 * MINUTE_MS);
      const one = await stage.ask({ isStream: false });
      assert.equal(one.status, 200);
      await stage.sleep(MINUTE_MS);
      await stage.served();
      assert.equal(stage.route(one).length, 1);
    },
  },
};
