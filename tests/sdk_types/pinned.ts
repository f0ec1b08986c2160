import type { Sdk } from "./entries.ts";

/** The folders of the tests' packages, in the versions of `tests/support/sdk/sdks.ts`. */
export const PINNED_FOLDERS: Readonly<Record<Sdk, string>> = {
  "openai": folderOf(import.meta.resolve("npm:openai@7.59.0")),
  "@anthropic-ai/sdk": folderOf(
    import.meta.resolve("npm:@anthropic-ai/sdk@1.14.0"),
  ),
};

function folderOf(module: string): string {
  return new URL(".", module).pathname;
}
