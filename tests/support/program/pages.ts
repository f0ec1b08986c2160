/** The pages outside of docs/. */
const OTHERS = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"],
  ...["tests/README.md", "tests/faults.md", "release/README.md"],
];

/** Reads the pages of the documentation, by their path in the repository. */
export async function readPages(): Promise<ReadonlyMap<string, string>> {
  const root = new URL("../../../", import.meta.url);
  const paths = [...OTHERS];
  for (const folder of ["docs/", "docs/reference/"]) {
    for await (const { name } of Deno.readDir(new URL(folder, root))) {
      if (name.endsWith(".md")) paths.push(folder + name);
    }
  }
  const pages = paths.map(async (path) =>
    [path, await Deno.readTextFile(new URL(path, root))] as const
  );
  return new Map(await Promise.all(pages));
}
