const ROOT = new URL("../../../", import.meta.url);

/** The parts of the repository that a history needs. */
const COPIED = [
  ...["src", "tests/simulation", "tests/support", "tests/deno.lock"],
  ...["deno.json", "deno.lock", "tests/http1/client/odd_responses.ts"],
];

/** Makes a temporary copy of the program, into which faults may be planted. */
export async function withCopy<Result>(
  use: (copy: string) => Promise<Result>,
): Promise<Result> {
  const copy = await Deno.makeTempDir({ prefix: "planted-" });
  try {
    await Promise.all(COPIED.map((path) => copyTo(copy, path)));
    return await use(copy);
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

async function copyTo(target: string, path: string): Promise<void> {
  const from = new URL(path, ROOT).pathname;
  const info = await Deno.stat(from);
  if (info.isFile) {
    await Deno.mkdir(`${target}/${path}`.replace(/\/[^/]*$/, ""), {
      recursive: true,
    });
    return await Deno.copyFile(from, `${target}/${path}`);
  }
  await Deno.mkdir(`${target}/${path}`, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    await copyTo(target, `${path}/${name}`);
  }
}
