import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import {
  createLineWriter,
  type LogOutputFormat,
  openLog,
  outputFormat,
} from "../../../../src/gateway/process/log/open_log.ts";
import { writeWhole } from "../../../../src/base/write_whole.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { createRandom } from "../../../support/fakes/random.ts";
import { settle } from "../../../support/settle.ts";

type LineWriterOptions = Parameters<typeof createLineWriter>[1];

/** A length that exceeds the waiting lines' limit, in characters. */
const TOO_LONG = 8 * 1024 * 1024;

/** Returns the output after one dropped line. */
async function afterDrop(format: LogOutputFormat): Promise<string> {
  let written = "";
  const { log, writer } = openLog({
    write(bytes) {
      written += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
  }, format);
  log.write("listener_lost", { reason: "x".repeat(TOO_LONG) });
  await writer.flush();
  return written;
}

Deno.test("openLog() reports dropped lines in the log's format, with the time", async () => {
  const { time, ...rest } = JSON.parse(await afterDrop("json"));
  assert.ok(Number.isFinite(Date.parse(time)));
  assert.deepEqual(rest, {
    level: "warn",
    event: "log_lines_dropped",
    count: 1,
  });
  assert.match(
    await afterDrop("text"),
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}warn {3}log_lines_dropped {2}count=1\n$/,
  );
});

Deno.test("openLog() colours every line for people, even the one about dropped lines", async () => {
  const line = await afterDrop("coloured_text");
  assert.ok(line.includes("\x1b[33mwarn"), line);
  assert.equal(
    stripVTControlCharacters(line).slice(21),
    (await afterDrop("text")).slice(21),
  );
});

Deno.test("outputFormat() uses colours only for people at a terminal, and never with NO_COLOR", () => {
  const formatOf = (
    format: "json" | "text",
    isTerminal: boolean,
    env: Readonly<Record<string, string>> = {},
  ) => outputFormat(format, isTerminal, (name) => env[name]);
  assert.equal(formatOf("text", true), "coloured_text");
  assert.equal(formatOf("text", true, { NO_COLOR: "" }), "coloured_text");
  assert.equal(formatOf("text", true, { NO_COLOR: "1" }), "text");
  assert.equal(formatOf("text", true, { TERM: "dumb" }), "text");
  assert.equal(formatOf("text", false), "text");
  assert.equal(formatOf("json", true), "json");
});

/** Opens a sink that accepts bytes when the test says so. */
function openSink(take: (bytes: Uint8Array) => Promise<number>) {
  const calls: string[] = [];
  return {
    calls,
    sink: {
      async write(bytes: Uint8Array): Promise<number> {
        const count = await take(bytes);
        calls.push(new TextDecoder().decode(bytes.subarray(0, count)));
        return count;
      },
    },
  };
}

function begin(
  take: (bytes: Uint8Array) => Promise<number> = ({ length }) =>
    Promise.resolve(length),
  options: Partial<LineWriterOptions> = {},
) {
  const timers = createFakeTimers();
  const { calls, sink } = openSink(take);
  const writer = createLineWriter(sink, {
    delayMs: 20,
    timers,
    droppedLine: (count) => `${count} dropped\n`,
    ...options,
  });
  return { timers, calls, writer };
}

Deno.test("createLineWriter() writes simultaneous lines together, in order", async () => {
  const { timers, calls, writer } = begin();
  writer.write("a\n");
  timers.advance(19);
  writer.write("b\n");
  await settle();
  assert.deepEqual(calls, []);
  timers.advance(1);
  await settle();
  assert.deepEqual(calls, ["a\nb\n"]);
  writer.write("c\n");
  timers.advance(20);
  await settle();
  assert.deepEqual(calls, ["a\nb\n", "c\n"]);
  assert.equal(timers.running, 0);
});

Deno.test("createLineWriter() writes whole lines to a sink that accepts only parts", async () => {
  const { calls, writer } = begin(({ length }) =>
    Promise.resolve(Math.min(length, 3))
  );
  writer.write("abcdé…\n");
  await writer.flush();
  assert.equal(calls.length, 4);
});

Deno.test("createLineWriter() writes lines that arrive during a write after it", async () => {
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  let call = 0;
  const { timers, calls, writer } = begin(async ({ length }) => {
    await gates[call++]?.promise;
    return length;
  });
  writer.write("a\n");
  timers.advance(20);
  writer.write("b\n");
  writer.write("c\n");
  gates[0]?.resolve();
  await settle();
  writer.write("d\n");
  gates[1]?.resolve();
  gates[2]?.resolve();
  await settle();
  assert.deepEqual(calls, ["a\n", "b\nc\n", "d\n"]);
  assert.equal(timers.running, 0);
});

Deno.test("createLineWriter() loses no line that arrives at the end of a write", async () => {
  for (let ticks = 0; ticks < 12; ticks++) {
    const { timers, calls, writer } = begin();
    writer.write("a\n");
    timers.advance(20);
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    writer.write("b\n");
    await settle();
    timers.advance(20);
    await settle();
    assert.equal(calls.join(""), "a\nb\n", `after ${ticks} microtasks`);
  }
});

Deno.test("createLineWriter() flushes waiting lines and those that arrive during the flush", async () => {
  const { timers, calls, writer } = begin();
  await writer.flush();
  writer.write("a\n");
  const flushed = writer.flush();
  writer.write("b\n");
  await flushed;
  assert.equal(calls.join(""), "a\nb\n");
  assert.equal(timers.running, 0);
});

Deno.test("createLineWriter() drops and counts lines when its sink is too slow", async () => {
  const gate = Promise.withResolvers<void>();
  const { timers, calls, writer } = begin(async ({ length }) => {
    await gate.promise;
    return length;
  }, { maxWaitingCharacters: 10 });
  writer.write("1234\n");
  timers.advance(20);
  writer.write("5678\n");
  writer.write("9012\n");
  writer.write("x\n");
  writer.write("y\n");
  gate.resolve();
  await writer.flush();
  assert.deepEqual(calls, ["1234\n", "5678\n9012\n2 dropped\n"]);
});

Deno.test("createLineWriter() reports a dropped line even when no other line waits", async () => {
  const { timers, calls, writer } = begin(undefined, {
    maxWaitingCharacters: 3,
  });
  writer.write("a line that is too long\n");
  timers.advance(20);
  await settle();
  assert.deepEqual(calls, ["1 dropped\n"]);
});

Deno.test("createLineWriter() reports a full disk once, and later continues with the count of lost lines", async () => {
  let room = 0;
  const failures: string[] = [];
  const { timers, calls, writer } = begin((bytes) => {
    if (room === 0) return Promise.reject(new Error("No space left"));
    const count = Math.min(room, bytes.length);
    room -= count;
    return Promise.resolve(count);
  }, { onFailure: (reason) => void failures.push(reason) });
  const write = async (line: string) => {
    writer.write(line);
    timers.advance(20);
    await settle();
  };
  await write("a\n");
  await write("b\n");
  room = 2;
  await write("c\n");
  room = Infinity;
  await write("d\n");
  assert.deepEqual(calls, ["\nc", "\nd\n3 dropped\n"]);
  await write("e\n");
  assert.deepEqual(calls.slice(2), ["e\n"]);
  assert.deepEqual(failures, ["No space left"]);
  assert.equal(timers.running, 0);
});

Deno.test("createLineWriter() continues after a failure of its sink", async () => {
  let fails = true;
  const { timers, calls, writer } = begin(({ length }) => {
    if (!fails) return Promise.resolve(length);
    fails = false;
    writer.write("b\n");
    return Promise.reject(new Error("broken pipe"));
  });
  writer.write("a\n");
  timers.advance(20);
  await settle();
  timers.advance(20);
  await settle();
  assert.deepEqual(calls, ["\nb\n1 dropped\n"]);
});

Deno.test("createLineWriter() flushes lines that wait for a failing write", async () => {
  const gate = Promise.withResolvers<number>();
  let writes = 0;
  const { timers, calls, writer } = begin(({ length }) =>
    writes++ === 0 ? gate.promise : Promise.resolve(length)
  );
  writer.write("a\n");
  timers.advance(20);
  writer.write("b\n");
  const flushed = writer.flush();
  gate.reject(new Error("broken pipe"));
  await flushed;
  assert.deepEqual(calls, ["\nb\n1 dropped\n"]);
});

Deno.test("createLineWriter() stops waiting for a sink that accepts nothing", async () => {
  let asked = 0;
  const { writer } = begin(() => {
    asked++;
    return Promise.resolve(0);
  });
  writer.write("a\n");
  await writer.flush();
  assert.equal(asked, 1);
});

Deno.test("createLineWriter() ends a flush to a stuck sink", async () => {
  const { timers, writer } = begin(() => new Promise(() => {}), {
    flushMs: 2000,
  });
  writer.write("a\n");
  const flushed = writer.flush();
  await settle();
  timers.advance(2000);
  await flushed;
  assert.equal(timers.running, 0);
});

Deno.test("createLineWriter() neither loses nor repeats lines, in any order of lines and time", async () => {
  for (let seed = 0; seed < 30; seed++) {
    const random = createRandom(seed);
    const { timers, calls, writer } = begin(async ({ length }) => {
      for (let tick = random.below(4); tick > 0; tick--) await settle();
      return 1 + random.below(length);
    });
    let written = "";
    for (let line = 0; line < 40; line++) {
      const text = `${seed}.${line} é\n`;
      written += text;
      writer.write(text);
      timers.advance(random.below(15));
      if (random.below(3) === 0) await Promise.resolve();
      if (random.below(10) === 0) await settle();
    }
    await writer.flush();
    assert.equal(bytesOf(calls), bytesOf([written]));
    assert.equal(timers.running, 0);
  }
});

/** Returns the ASCII characters of the parts. Other characters may be cut in half. */
function bytesOf(parts: readonly string[]): string {
  return parts.join("").replace(/[^\x20-\x7e\n]/g, "");
}

Deno.test("writeWhole() writes the whole text to a sink that accepts only parts", () => {
  const parts: Uint8Array[] = [];
  const isWritten = writeWhole({
    writeSync(bytes) {
      parts.push(bytes.slice(0, 3));
      return Math.min(3, bytes.length);
    },
  }, "abcdé…\n");
  const text = new TextDecoder().decode(
    new Uint8Array(parts.flatMap((part) => [...part])),
  );
  assert.equal(text, "abcdé…\n");
  assert.ok(isWritten);
});

Deno.test("writeWhole() removes terminal commands except colours and redrawn lines", () => {
  const written = (text: string) => {
    const parts: Uint8Array[] = [];
    writeWhole({
      writeSync(bytes) {
        parts.push(bytes.slice());
        return bytes.length;
      },
    }, text);
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      Uint8Array.from(parts.flatMap((part) => [...part])),
    );
  };
  const own = [
    "\x1b[2J\x1b[H\x1b[1mbold\x1b[0m\ttext\r\n",
    "\rReading page 2\x1b[K",
    "caf\u00e9 \u{1f600} \u4e2d\u6587\n",
  ];
  for (const text of own) assert.equal(written(text), text);
  const hostile = {
    "\x1b]0;title\x07": "\ufffd]0;title\ufffd",
    "a\x1b[2Jb": "a\ufffd[2Jb",
    "a\rb": "a\ufffdb",
    "a\x9b31mb": "a\ufffd31mb",
    "a\u202eb\u2069c\u200bd\ufeffe\u2028f\u2029g\u061ch": "a.b.c.d.e.f.g.h",
    "a\u{e0041}b": "a.b",
  };
  for (const [text, shown] of Object.entries(hostile)) {
    assert.equal(written(text), shown.replaceAll(".", "\ufffd"));
  }
});

Deno.test("writeWhole() stops when the sink fails, and reports the reason unless the reader has gone", () => {
  let asked = 0;
  const failing = (error: Error) => ({
    writeSync(): number {
      asked++;
      throw error;
    },
  });
  const gone = failing(new Deno.errors.BrokenPipe("broken pipe"));
  const reasons: string[] = [];
  const note = (reason: string) => void reasons.push(reason);
  assert.equal(writeWhole(gone, "text", note), false);
  assert.equal(asked, 1);
  const full = new Error("no space left");
  assert.equal(writeWhole(failing(full), "text", note), false);
  assert.deepEqual(reasons, ["no space left"]);
});
