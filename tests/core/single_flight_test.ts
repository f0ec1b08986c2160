import assert from "node:assert/strict";
import { SingleFlight } from "../../src/core/memo.ts";

Deno.test("SingleFlight shares running work among callers with the same key", async () => {
  const flights = new SingleFlight<string, number>();
  const { promise, resolve } = Promise.withResolvers<number>();
  let started = 0;
  const work = () => {
    started += 1;
    return promise;
  };
  const askers = [1, 2, 3].map(() => flights.run("a", work));
  const other = flights.run("b", () => Promise.resolve(7));
  resolve(5);
  assert.deepEqual(await Promise.all(askers), [5, 5, 5]);
  assert.equal(await other, 7);
  assert.equal(started, 1);
});

Deno.test("SingleFlight begins again once the work has settled", async () => {
  const flights = new SingleFlight<string, number>();
  let started = 0;
  const work = () => Promise.resolve(++started);
  assert.equal(await flights.run("a", work), 1);
  assert.equal(await flights.run("a", work), 2);
});

Deno.test("SingleFlight passes a failure to all callers and does not cache it", async () => {
  const flights = new SingleFlight<string, number>();
  const fail = () => Promise.reject(new Error("no"));
  const askers = [flights.run("a", fail), flights.run("a", fail)];
  for (const asker of askers) await assert.rejects(asker, /no/);
  assert.equal(await flights.run("a", () => Promise.resolve(1)), 1);
});

Deno.test("SingleFlight treats work that throws at once like other failures", async () => {
  const flights = new SingleFlight<string, number>();
  const fail = () => {
    throw new Error("no");
  };
  await assert.rejects(flights.run("a", fail), /no/);
  assert.equal(await flights.run("a", () => Promise.resolve(1)), 1);
});
