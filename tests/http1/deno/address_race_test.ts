import {
  alternate,
  raceAddresses,
} from "../../../src/http1/deno/address_race.ts";
import assert from "node:assert/strict";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../support/fakes/fake_timers.ts";
import { nextTurn } from "../../support/settle.ts";
import { within } from "../../support/within.ts";

/** A connection of a test. */
interface TestConnection {
  readonly address: string;
  isClosed: boolean;
  close(): void;
}

/** A race whose addresses answer when the test decides. */
interface Race {
  readonly timers: FakeTimers;
  /** The addresses that are tried, in order. */
  readonly tried: readonly string[];
  /** The addresses whose attempts were given up. */
  readonly givenUp: readonly string[];
  readonly result: Promise<TestConnection>;
  answer(address: string): TestConnection;
  fail(address: string): void;
}

function startRace(
  addresses: readonly string[],
  signal: AbortSignal = new AbortController().signal,
): Race {
  const timers = createFakeTimers();
  const tried: string[] = [];
  const givenUp: string[] = [];
  const attempts = new Map<string, PromiseWithResolvers<TestConnection>>();
  const attemptOf = (address: string) => {
    const attempt = attempts.get(address);
    assert.ok(attempt, `${address} is not tried`);
    return attempt;
  };
  const result = raceAddresses(
    addresses,
    (address, either) => {
      tried.push(address);
      const attempt = Promise.withResolvers<TestConnection>();
      attempts.set(address, attempt);
      either.addEventListener("abort", () => givenUp.push(address));
      return attempt.promise;
    },
    signal,
    timers,
  );
  return {
    timers,
    tried,
    givenUp,
    result: within(result, "the race"),
    answer(address) {
      const connection: TestConnection = {
        address,
        isClosed: false,
        close() {
          connection.isClosed = true;
        },
      };
      attemptOf(address).resolve(connection);
      return connection;
    },
    fail: (address) => attemptOf(address).reject(new Error(address)),
  };
}

Deno.test("the families of a host's addresses take turns, beginning with the first", () => {
  const found = (...addresses: readonly string[]) =>
    alternate(addresses.map((address) => ({
      address,
      family: address.includes(":") ? 6 : 4,
    })));
  assert.deepEqual(found(), []);
  assert.deepEqual(found("1", "2"), ["1", "2"]);
  assert.deepEqual(found("::1", "::2", "1", "2"), ["::1", "1", "::2", "2"]);
  assert.deepEqual(found("1", "::1", "::2", "::3"), ["1", "::1", "::2", "::3"]);
  assert.deepEqual(found("1", "2", "3", "::1"), ["1", "::1", "2", "3"]);
});

Deno.test("only the first address is tried while it may answer in time", async () => {
  const race = startRace(["a", "b"]);
  race.timers.advance(249);
  await nextTurn();
  const first = race.answer("a");
  assert.equal(await race.result, first);
  assert.deepEqual(race.tried, ["a"]);
  assert.equal(race.timers.running, 0);
});

Deno.test("the next address is tried beside a slow address, and the first address that answers wins", async () => {
  const race = startRace(["a", "b", "c"]);
  race.timers.advance(250);
  await nextTurn();
  assert.deepEqual(race.tried, ["a", "b"]);
  const second = race.answer("b");
  assert.equal(await race.result, second);
  assert.ok(race.givenUp.includes("a"));
  const late = race.answer("a");
  await nextTurn();
  assert.deepEqual([late.isClosed, second.isClosed], [true, false]);
  assert.deepEqual(race.tried, ["a", "b"]);
});

Deno.test("a slow address may still answer first", async () => {
  const race = startRace(["a", "b"]);
  race.timers.advance(250);
  await nextTurn();
  const first = race.answer("a");
  const second = race.answer("b");
  assert.equal(await race.result, first);
  await nextTurn();
  assert.ok(second.isClosed);
});

Deno.test("the next address is tried at once when an address fails", async () => {
  const race = startRace(["a", "b", "c"]);
  race.fail("a");
  await nextTurn();
  assert.deepEqual(race.tried, ["a", "b"]);
  race.timers.advance(250);
  await nextTurn();
  race.fail("c");
  await nextTurn();
  const second = race.answer("b");
  assert.equal(await race.result, second);
  assert.equal(race.timers.running, 0);
});

Deno.test("a race that all addresses lose fails with the reason of the first", async () => {
  const race = startRace(["a", "b"]);
  race.timers.advance(250);
  await nextTurn();
  race.fail("b");
  race.fail("a");
  await assert.rejects(race.result, { message: "a" });
  await assert.rejects(startRace([]).result, /no addresses/);
});

Deno.test("a race that all addresses lose prefers other reasons over a missing address family", async () => {
  const missing = Object.assign(new Error("no address of this family"), {
    code: "EADDRNOTAVAIL",
  });
  const refused = new Error("refused");
  const fail = (address: string) =>
    Promise.reject(address === "a" ? missing : refused);
  const { signal } = new AbortController();
  await assert.rejects(raceAddresses(["a", "b"], fail, signal), refused);
  await assert.rejects(raceAddresses(["a", "a"], fail, signal), missing);
});

Deno.test("a race ends when its signal aborts", async () => {
  const leaving = new AbortController();
  const race = startRace(["a", "b"], leaving.signal);
  race.timers.advance(250);
  await nextTurn();
  leaving.abort();
  assert.deepEqual(race.givenUp, ["a", "b"]);
  race.fail("a");
  race.fail("b");
  await assert.rejects(race.result);
});
