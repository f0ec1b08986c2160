import { runReconcile } from "../../../src/tools/reconcile/command.ts";
import {
  identifyLog,
  openLog,
} from "../../../src/gateway/process/log/log_files.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";

/** Runs `reconcile` on 2026-11-26. */
export async function reconcile(
  args: readonly string[],
  { fetch, columns }: {
    /** The provider with the reports. */
    readonly fetch: typeof globalThis.fetch;
    /** The width of the terminal; absent without one. */
    readonly columns?: number;
  },
): Promise<{
  readonly code: number;
  readonly out: string;
  readonly error: string;
}> {
  const io = createMemoryIo();
  const code = await runReconcile(args, {
    ...io,
    ...{ identify: identifyLog, open: openLog, isTyped: () => false },
    fetch,
    deadline: () => new AbortController().signal,
    now: () => Date.UTC(2026, 10, 26, 15),
    columns: () => columns,
  });
  return { code, out: io.written(), error: io.complained() };
}
