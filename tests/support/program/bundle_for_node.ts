import { fromFileUrl } from "./paths.ts";

/**
 * Bundles a program of the tests and its imports into one module for Node.
 *
 * @param entry The path of the program below the repository.
 * @returns The path of the module in `folder`; `undefined` if bundling fails.
 */
export async function bundleForNode(
  entry: string,
  folder: string,
): Promise<string | undefined> {
  const output = `${folder}/program.mjs`;
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--lock=tests/deno.lock"],
      ...["--output", output, entry],
    ],
    cwd: fromFileUrl(new URL("../../../", import.meta.url)),
    ...{ stdin: "null", stdout: "null", stderr: "null" },
  }).output();
  return success ? output : undefined;
}
