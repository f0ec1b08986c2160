import assert from "node:assert/strict";
import { LOG_FILES, openLog } from "../../../src/cli/usage/log_files.ts";
import { needing } from "../../support/ignored.ts";
import { within } from "../../support/within.ts";

/** A folder with logs, a folder in it, and what is to be done there. */
async function inFolder(work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/old`);
    for (const name of ["a.jsonl", "a.jsonl.1.gz", "b.log", "old/c.jsonl"]) {
      await Deno.writeTextFile(`${folder}/${name}`, name);
    }
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The whole of what is read of a file. */
async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true });
  }
  return text;
}

Deno.test("LOG_FILES finds files, but no folders, by wildcards", async (t) => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    "*.jsonl*": ["a.jsonl", "a.jsonl.1.gz"],
    "*": ["a.jsonl", "a.jsonl.1.gz", "b.log"],
    "**/*.jsonl": ["a.jsonl", "old/c.jsonl"],
    "{a,b}.*": ["a.jsonl", "a.jsonl.1.gz", "b.log"],
    "a.jsonl": ["a.jsonl"],
    "none*": [],
    "none/*": [],
  };
  await inFolder(async (folder) => {
    for (const [pattern, names] of Object.entries(cases)) {
      await t.step(pattern, async () => {
        const found = await LOG_FILES.find(`${folder}/${pattern}`);
        assert.deepEqual(
          found.map(({ path }) => path.slice(folder.length + 1)).sort(),
          names,
        );
      });
    }
  });
});

Deno.test("LOG_FILES reads a file up to its length when it was found", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/b.log`;
    const text = "0123456789".repeat(20_000);
    await Deno.writeTextFile(path, text);
    const [file] = await LOG_FILES.find(path);
    assert.ok(file !== undefined);
    assert.equal(file.size, text.length);
    assert.ok(Math.abs(file.writtenMs - Date.now()) < 3_600_000);
    await Deno.writeTextFile(path, text, { append: true });
    assert.ok(await textOf(LOG_FILES.read(file)) === text);
    await Deno.writeTextFile(path, "cut meanwhile");
    assert.equal(await textOf(LOG_FILES.read(file)), "cut meanwhile");
    await Deno.remove(path);
    await assert.rejects(textOf(LOG_FILES.read(file)), Deno.errors.NotFound);
  });
});

Deno.test({
  ...needing(
    "LOG_FILES knows a file by whatever name it is found, and reads no other in its place",
    Deno.build.os === "windows" && "Windows makes links for few",
  ),
  fn: async () => {
    await inFolder(async (folder) => {
      await Deno.link(`${folder}/b.log`, `${folder}/hard.log`);
      await Deno.symlink(`${folder}/b.log`, `${folder}/soft.log`);
      const found = await LOG_FILES.find(`${folder}/*`);
      assert.equal(found.length, 5);
      assert.equal(new Set(found.map(({ id }) => id)).size, 3);
      const [file] = await LOG_FILES.find(`${folder}/b.log`);
      assert.ok(file !== undefined);
      await Deno.rename(`${folder}/b.log`, `${folder}/b.log.1`);
      await Deno.writeTextFile(`${folder}/b.log`, "another");
      await assert.rejects(textOf(LOG_FILES.read(file)), Deno.errors.NotFound);
      const [moved] = await LOG_FILES.find(`${folder}/b.log.1`);
      assert.equal(moved?.id, file.id);
    });
  },
});

Deno.test("LOG_FILES closes a file that is not read to its end", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/b.log`;
    await Deno.writeTextFile(path, "0123456789".repeat(100_000));
    const [file] = await LOG_FILES.find(path);
    assert.ok(file !== undefined);
    // The test's sanitizer fails when it stays open.
    for await (const piece of LOG_FILES.read(file)) {
      assert.ok(piece.length > 0);
      break;
    }
  });
});

Deno.test("LOG_FILES finds an unreadable file, and reading it reports the reason", async () => {
  await inFolder(async (folder) => {
    await Deno.symlink(`${folder}/moved`, `${folder}/d.jsonl`);
    const found = await LOG_FILES.find(`${folder}/*.jsonl`);
    const byName = new Map(
      found.map((file) => [file.path.slice(folder.length + 1), file]),
    );
    assert.deepEqual([...byName.keys()].sort(), ["a.jsonl", "d.jsonl"]);
    const lost = byName.get("d.jsonl");
    assert.ok(lost !== undefined);
    await assert.rejects(textOf(LOG_FILES.read(lost)), Deno.errors.NotFound);
  });
});

Deno.test({
  ...needing(
    "LOG_FILES finds no pipe and no device, which would never end",
    Deno.build.os === "windows" && "Windows has no such pipes",
  ),
  fn: async () => {
    await inFolder(async (folder) => {
      const made = await new Deno.Command("mkfifo", {
        args: [`${folder}/pipe.jsonl`],
      }).output();
      assert.ok(made.success);
      await Deno.symlink("/dev/zero", `${folder}/zero.jsonl`);
      const found = await LOG_FILES.find(`${folder}/*.jsonl`);
      assert.deepEqual(found.map(({ path }) => path), [`${folder}/a.jsonl`]);
    });
  },
});

Deno.test({
  ...needing(
    "a log whose name leads to a pipe is refused at once, whether found before or named",
    Deno.build.os === "windows" && "Windows has no such pipes",
  ),
  fn: async () => {
    await inFolder(async (folder) => {
      const path = `${folder}/a.jsonl`;
      const [file] = await LOG_FILES.find(path);
      assert.ok(file !== undefined);
      await Deno.remove(path);
      const made = await new Deno.Command("mkfifo", { args: [path] }).output();
      assert.ok(made.success);
      // Opened for both, it waits for nobody and ends the wait of those who read.
      using _writer = {
        [Symbol.dispose]: () =>
          Deno.openSync(path, { read: true, write: true }).close(),
      };
      await assert.rejects(
        within(textOf(LOG_FILES.read(file)), "the log"),
        { name: "NotRegularFileError" },
      );
      await assert.rejects(
        within(openLog(path, () => true), "the log"),
        /: it is a FIFO, a socket or a device/,
      );
    });
  },
});

Deno.test("a named log that cannot be opened is reported in plain words", async () => {
  await inFolder(async (folder) => {
    const cases = { none: /: it does not exist$/, old: /: it is a directory$/ };
    for (const [name, expected] of Object.entries(cases)) {
      await assert.rejects(openLog(`${folder}/${name}`, () => true), expected);
    }
  });
});
