import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/base/error.ts";
import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import {
  createBodyMemory,
  type MemoryOfOthers,
  type MemoryShare,
} from "../../../../src/gateway/relay/request/body_memory.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { settle } from "../../../support/settle.ts";

const { signal: NEVER } = new AbortController();

/** Returns true for the error of full memory. */
function isFull(error: unknown): boolean {
  return error instanceof GatewayError && error.kind === "overloaded" &&
    error.headers["retry-after"] === "1" && /no room/.test(error.message) &&
    /^\d+ bytes of memory for bodies$/.test(error.limit ?? "");
}

/** Follows the state of a promise. */
function follow(promise: Promise<unknown>): { state: string } {
  const followed = { state: "waits" };
  promise.then(
    () => followed.state = "granted",
    (error) => followed.state = isFull(error) ? "full" : String(error),
  );
  return followed;
}

function open(maxBytes: number): {
  readonly memory: ReturnType<typeof createBodyMemory>;
  /** @param caller Default: alice. */
  share(caller?: string): MemoryShare;
} {
  const memory = createBodyMemory();
  return { memory, share: (caller = "alice") => memory.open(maxBytes, caller) };
}

Deno.test("createBodyMemory() grants all of its memory but no byte more", () => {
  const { memory, share } = open(100);
  const first = share();
  const second = share();
  first.take(60);
  second.take(40);
  assert.throws(() => second.take(1), isFull);
  assert.equal(memory.usedBytes, 100);
  first.give(10);
  second.take(10);
  assert.equal(memory.usedBytes, 100);
});

Deno.test("close() frees a request's memory, and only once", () => {
  const { memory, share } = open(100);
  const one = share();
  one.take(60);
  one.give(20);
  one.give(1000);
  assert.equal(memory.usedBytes, 0);
  one.take(30);
  one.close();
  one.close();
  one.take(90);
  one.give(90);
  assert.equal(memory.usedBytes, 0);
});

Deno.test("createBodyMemory() applies the limit of each request's configuration", () => {
  const memory = createBodyMemory();
  memory.open(100, "alice").take(80);
  assert.throws(() => memory.open(50, "alice").take(1), isFull);
  memory.open(200, "alice").take(100);
  assert.equal(memory.usedBytes, 180);
});

Deno.test("createBodyMemory() lends memory for work, and keeps only the memory of the work's result", async () => {
  const { memory, share } = open(100);
  const one = share();
  one.take(20);
  const loan = await one.borrow(80, NEVER);
  assert.equal(memory.usedBytes, 100);
  loan.keep(25);
  assert.equal(memory.usedBytes, 45);
  loan.keep(30);
  assert.equal(memory.usedBytes, 45);
  loan.end();
  loan.end();
  assert.equal(memory.usedBytes, 20);
  one.close();
  assert.equal(memory.usedBytes, 0);
});

Deno.test("borrow() grants memory in the order of arrival, even if a later, smaller loan would fit", async () => {
  const { share } = open(100);
  const running = await share().borrow(60, NEVER);
  const large = share().borrow(90, NEVER);
  const small = share().borrow(10, NEVER);
  const [followed, behind] = [follow(large), follow(small)];
  await settle();
  assert.deepEqual([followed.state, behind.state], ["waits", "waits"]);
  running.end();
  await settle();
  assert.deepEqual([followed.state, behind.state], ["granted", "granted"]);
});

Deno.test("borrow() rejects a loan that would not fit even after all running work has ended", async () => {
  const { memory, share } = open(100);
  const held = share();
  held.take(50);
  await assert.rejects(share().borrow(60, NEVER), isFull);
  const running = await share().borrow(40, NEVER);
  const waiting = [60, 90, 45].map((bytes) =>
    follow(share().borrow(bytes, NEVER))
  );
  await settle();
  assert.deepEqual(waiting.map(({ state }) => state), [
    "waits",
    "waits",
    "waits",
  ]);
  running.end();
  await settle();
  assert.deepEqual(waiting.map(({ state }) => state), [
    "full",
    "full",
    "granted",
  ]);
  assert.equal(memory.usedBytes, 95);
});

Deno.test("borrow() grants a waiting loan when a body is released or an earlier waiting caller leaves", async () => {
  const { share } = open(100);
  const held = share();
  held.take(50);
  await share().borrow(40, NEVER);
  const controller = new AbortController();
  const leaving = follow(share().borrow(70, controller.signal));
  const behind = follow(share().borrow(10, NEVER));
  await settle();
  assert.deepEqual([leaving.state, behind.state], ["waits", "waits"]);
  controller.abort("left");
  await settle();
  assert.deepEqual([leaving.state, behind.state], ["left", "granted"]);
  const next = follow(share().borrow(50, NEVER));
  await settle();
  assert.equal(next.state, "waits");
  held.close();
  await settle();
  assert.equal(next.state, "granted");
});

Deno.test("createBodyMemory() lends nothing to a caller who has already disconnected", async () => {
  const { memory, share } = open(100);
  const gone = AbortSignal.abort("left");
  await assert.rejects(share().borrow(1, gone), (reason) => reason === "left");
  assert.equal(memory.usedBytes, 0);
});

/** Opens an upload with `bytes` received bytes, and notes its eviction. */
function upload(share: MemoryShare, bytes: number, declaredBytes = 0) {
  const one = {
    state: "goes on",
    end: share.begin(declaredBytes, (error) => {
      one.state = isFull(error) ? "full" : String(error);
    }),
  };
  share.take(bytes);
  return one;
}

Deno.test("createBodyMemory() rejects an upload at once when it grows beyond the memory", () => {
  const { memory, share } = open(100);
  const [one, other] = [share(), share()];
  upload(one, 50);
  upload(other, 50);
  assert.throws(() => one.take(1), isFull);
  assert.throws(() => other.take(1), isFull);
  one.close();
  other.take(50);
  assert.equal(memory.usedBytes, 100);
});

Deno.test("createBodyMemory() evicts the largest upload of the caller with the most memory for another caller", () => {
  const { memory, share } = open(100);
  const small = upload(share("mallory"), 20);
  const large = upload(share("mallory"), 50);
  const carol = upload(share("carol"), 30);
  share("bob").take(10);
  assert.equal(large.state, "full");
  assert.equal(small.state, "goes on");
  assert.equal(carol.state, "goes on");
  assert.equal(memory.usedBytes, 60);
});

Deno.test("createBodyMemory() evicts only as many uploads as needed, and none if the request still would not fit", () => {
  const { memory, share } = open(100);
  const uploads = [30, 30, 30].map((bytes) => upload(share("mallory"), bytes));
  const states = () => uploads.map(({ state }) => state);
  share("bob").take(45);
  assert.deepEqual(states(), ["goes on", "full", "full"]);
  assert.equal(memory.usedBytes, 75);
  assert.throws(() => share("carol").take(80), isFull);
  assert.deepEqual(states(), ["goes on", "full", "full"]);
  assert.equal(memory.usedBytes, 75);
});

Deno.test("createBodyMemory() never leaves an evicted caller with less memory than the new caller", () => {
  const { memory, share } = open(100);
  const uploads = [30, 30].map((bytes) => upload(share("mallory"), bytes));
  share("carol").take(40);
  assert.throws(() => share("bob").take(50), isFull);
  assert.ok(uploads.every(({ state }) => state === "goes on"));
  share("bob").take(25);
  assert.equal(memory.usedBytes, 95);
});

Deno.test("createBodyMemory() evicts no upload for a caller who would then hold as much as the upload's owner", () => {
  const { share } = open(100);
  const mallory = upload(share("mallory"), 60);
  const bob = share("bob");
  upload(bob, 40);
  assert.throws(() => bob.take(20), isFull);
  assert.equal(mallory.state, "goes on");
  bob.take(0);
  assert.throws(() => share("mallory").take(1), isFull);
  bob.give(1);
  bob.take(19);
  assert.equal(mallory.state, "full");
});

Deno.test("createBodyMemory() evicts no complete body, but counts the body's memory for its caller", () => {
  const { memory, share } = open(100);
  const whole = upload(share("mallory"), 60);
  whole.end();
  const begun = upload(share("mallory"), 10);
  upload(share("carol"), 30);
  share("bob").take(5);
  assert.deepEqual([whole.state, begun.state], ["goes on", "full"]);
  assert.equal(memory.usedBytes, 95);
  assert.throws(() => share("bob").take(36), isFull);
});

Deno.test("createBodyMemory() evicts uploads for work on another caller's body", async () => {
  const { memory, share } = open(100);
  const mallory = upload(share("mallory"), 90);
  const loan = await share("bob").borrow(60, NEVER);
  assert.equal(mallory.state, "full");
  assert.equal(memory.usedBytes, 60);
  loan.end();
  upload(share("alice"), 90);
  await assert.rejects(share("alice").borrow(60, NEVER), isFull);
});

Deno.test("createBodyMemory() frees the memory of an evicted upload once", () => {
  const { memory, share } = open(100);
  const mallory = share("mallory");
  upload(mallory, 90);
  share("bob").take(20);
  assert.equal(memory.usedBytes, 20);
  mallory.give(90);
  mallory.close();
  assert.equal(memory.usedBytes, 20);
});

Deno.test("createBodyMemory() rejects an upload whose declared length does not fit beside its caller's other uploads", () => {
  const { memory, share } = open(100);
  const first = share("mallory");
  upload(first, 10, 70);
  const bob = upload(share("bob"), 0, 90);
  assert.throws(() => share("mallory").begin(31, () => {}), isFull);
  share("mallory").begin(30, () => {});
  assert.throws(() => share("carol").begin(101, () => {}), isFull);
  share("carol").take(60);
  assert.throws(() => share("dora").begin(31, () => {}), isFull);
  assert.equal(memory.usedBytes, 70);
  assert.equal(bob.state, "goes on");
});

Deno.test("createBodyMemory() forgets the declared length of an upload when its share closes", () => {
  const { share } = open(100);
  const left = share("mallory");
  upload(left, 10, 70);
  left.close();
  share("mallory").begin(100, () => {});
});

Deno.test("createBodyMemory() completes as many uploads as fit when many callers' uploads grow at once", () => {
  const { memory, share } = open(100);
  let uploads = ["alice", "bob", "carol", "dora"].flatMap((caller) =>
    Array.from({ length: 3 }, () => {
      const own = share(caller);
      return { share: own, bytes: 0, upload: upload(own, 0, 30) };
    })
  );
  let ended = 0;
  for (let turn = 0; uploads.length > 0; turn++) {
    assert.ok(turn < 100);
    uploads = uploads.filter((one) => {
      if (one.upload.state !== "goes on") return false;
      try {
        one.share.take(5);
      } catch {
        one.share.close();
        return false;
      }
      assert.ok(memory.usedBytes <= 100);
      one.bytes += 5;
      if (one.bytes < 30) return true;
      one.upload.end();
      ended += 1;
      return false;
    });
  }
  assert.equal(ended, 3);
  assert.equal(memory.usedBytes, 90);
});

Deno.test("createBodyMemory() admits other callers beside many silent uploads of one caller", () => {
  const { share } = open(64 * 1024 * 1024);
  const uploads = Array.from({ length: 200 }, () => share("mallory"))
    .flatMap((one) => {
      try {
        return [upload(one, 16 * 1024, 32 * 1024 * 1024)];
      } catch {
        return [];
      }
    });
  assert.ok(uploads.length > 0);
  upload(share("bob"), 32 * 1024 * 1024, 32 * 1024 * 1024);
  assert.ok(uploads.every(({ state }) => state === "goes on"));
});

/** Holds the body of a waiting request, and notes the end of the wait. */
function wait(share: MemoryShare, bytes: number) {
  share.take(bytes);
  const one = {
    state: "waits",
    end: share.wait((error) => {
      one.state = isFull(error) ? "full" : String(error);
    }),
  };
  return one;
}

Deno.test("createBodyMemory() evicts the largest waiting body of the largest caller, the newest of equal ones first", () => {
  const { memory, share } = open(100);
  const [small, first, second] = [10, 20, 20]
    .map((bytes) => wait(share("mallory"), bytes));
  const begun = upload(share("mallory"), 25);
  const carol = wait(share("carol"), 25);
  const states = () =>
    [small, first, second, begun, carol].map((one) => one?.state);
  share("bob").take(15);
  assert.deepEqual(states(), ["waits", "waits", "full", "goes on", "waits"]);
  share("bob").take(25);
  assert.deepEqual(states(), ["waits", "full", "full", "goes on", "waits"]);
  assert.equal(memory.usedBytes, 100);
});

Deno.test("createBodyMemory() evicts as many waiting bodies as a new body needs, and none if it still would not fit", () => {
  const { share } = open(100);
  const waits = ["alice", "bob", "carol"].map((one) => wait(share(one), 20));
  const running = share("dora");
  running.take(40);
  const states = () => waits.map(({ state }) => state);
  assert.throws(() => share("mallory").take(61), isFull);
  assert.deepEqual(states(), ["waits", "waits", "waits"]);
  share("erin").take(40);
  assert.deepEqual(states(), ["full", "full", "waits"]);
});

Deno.test("createBodyMemory() evicts no waiting body for a caller who would hold more than half of the memory", () => {
  const { share } = open(100);
  const waits = ["alice", "bob"].map((one) => wait(share(one), 25));
  const states = () => waits.map(({ state }) => state);
  const mallory = share("mallory");
  upload(mallory, 50);
  assert.throws(() => mallory.take(1), isFull);
  assert.throws(() => share("mallory").begin(1, () => {}), isFull);
  assert.deepEqual(states(), ["waits", "waits"]);
});

Deno.test("createBodyMemory() evicts a body only while its request waits", () => {
  const { memory, share } = open(100);
  const own = share("mallory");
  const first = wait(own, 100);
  first.end();
  assert.throws(() => share("bob").take(1), isFull);
  const again = wait(own, 0);
  share("bob").take(1);
  assert.deepEqual([first.state, again.state], ["waits", "full"]);
  own.close();
  assert.equal(memory.usedBytes, 1);
});

/** Opens a memory beside another thread with a scripted usage, and notes the published usage. */
function another(usedBytes: number, running = 0) {
  const other = { usedBytes, running, published: [0, 0] };
  const others: MemoryOfOthers = {
    threads: 2,
    usedBytes: () => other.usedBytes,
    running: () => other.running,
    publish: (...own) => void (other.published = own),
  };
  const timers = createFakeTimers();
  const memory = createBodyMemory(others, createDeadlines(timers));
  return { other, timers, memory, share: () => memory.open(100, "alice") };
}

Deno.test("createBodyMemory() counts the memory of other threads, and publishes its own", async () => {
  const { other, memory, share } = another(60);
  const one = share();
  one.take(40);
  assert.deepEqual(other.published, [40, 0]);
  assert.throws(() => one.take(1), isFull);
  assert.equal(memory.usedBytes, 40);
  assert.deepEqual(other.published, [40, 0]);
  one.give(30);
  const loan = await share().borrow(20, NEVER);
  assert.deepEqual(other.published, [30, 1]);
  loan.end();
  assert.deepEqual(other.published, [10, 0]);
});

Deno.test("createBodyMemory() evicts uploads of its own thread when other threads hold the rest", () => {
  const { other, memory } = another(60);
  const mallory = upload(memory.open(100, "mallory"), 35);
  memory.open(100, "bob").take(10);
  assert.equal(mallory.state, "full");
  assert.deepEqual(other.published, [10, 0]);
});

Deno.test("createBodyMemory() keeps a quarter free for new bodies, since it cannot evict other threads' bodies", () => {
  const { other, memory } = another(0);
  const share = (caller: string) => memory.open(100, caller);
  const carol = wait(share("carol"), 20);
  const [first, second] = [30, 25].map((bytes) => wait(share("bob"), bytes));
  const states = () => [carol, first, second].map((one) => one?.state);
  assert.deepEqual(states(), ["waits", "waits", "waits"]);
  other.usedBytes = 10;
  const last = wait(share("dora"), 5);
  assert.deepEqual(states(), ["waits", "full", "waits"]);
  assert.equal(last.state, "waits");
  assert.equal(memory.usedBytes, 50);
  other.usedBytes = 60;
  const own = wait(share("erin"), 1);
  assert.deepEqual(states(), ["waits", "full", "full"]);
  assert.equal(own.state, "waits");
});

Deno.test("createBodyMemory() evicts no waiting body while the thread keeps within its part of the memory", () => {
  const { memory } = another(70);
  const one = wait(memory.open(100, "bob"), 30);
  assert.equal(one.state, "waits");
});

Deno.test("createBodyMemory() lets waiting bodies fill the memory of a single thread", () => {
  const { share } = open(100);
  const waits = [50, 50].map((bytes) => wait(share("bob"), bytes));
  assert.ok(waits.every(({ state }) => state === "waits"));
});

Deno.test("borrow() waits for the work of other threads, and polls their memory", async () => {
  const { other, timers, share } = another(60, 1);
  const waiting = follow(share().borrow(50, NEVER));
  await settle();
  assert.equal(waiting.state, "waits");
  timers.advance(50);
  await settle();
  assert.equal(waiting.state, "waits");
  Object.assign(other, { usedBytes: 0, running: 0 });
  timers.advance(50);
  await settle();
  assert.equal(waiting.state, "granted");
  assert.equal(timers.running, 0);
});

Deno.test("borrow() rejects a waiting loan when the other threads run no more work", async () => {
  const { other, timers, share } = another(60, 1);
  const waiting = follow(share().borrow(50, NEVER));
  await settle();
  other.running = 0;
  timers.advance(50);
  await settle();
  assert.equal(waiting.state, "full");
});

Deno.test("createBodyMemory() does not count memory that a request takes after its end", () => {
  const { memory, share } = open(100);
  const one = share();
  one.close();
  one.take(60);
  assert.equal(memory.usedBytes, 0);
});
