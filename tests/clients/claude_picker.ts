import { type RunOptions, startClient } from "./run_client.ts";

/** A row of Claude Code's picker of models. */
export interface PickerRow {
  /** The model id that it requests. */
  readonly value: string;
  readonly displayName: string;
}

/** The pause before each reading: Claude Code requests the models during its start, and the picker has them later. */
const BETWEEN_MS = 100;

/**
 * The maximum number of readings. Together they take several times as long as the client waits for
 * the list.
 */
const MAX_READS = 150;

/**
 * Reads Claude Code's picker until it has a model, at most {@linkcode MAX_READS} times. Makes no
 * model request.
 */
export async function readPicker(
  command: readonly string[],
  { until, ...options }: RunOptions & {
    /** The model's name in the picker. */
    readonly until: string;
  },
): Promise<readonly PickerRow[]> {
  const home = await Deno.makeTempDir({ prefix: "client-" });
  const { child } = await startClient(command, home, options);
  const input = child.stdin.getWriter();
  const errors = new Response(child.stderr).text();
  let rows: readonly PickerRow[] = [];
  let reads = 0;
  try {
    await input.write(QUESTION);
    for await (const line of linesOf(child.stdout)) {
      const models = JSON.parse(line).response?.response?.models;
      if (!Array.isArray(models)) continue;
      rows = models;
      reads += 1;
      if (reads === MAX_READS) break;
      if (rows.some(({ value }) => value === until)) break;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      await input.write(QUESTION);
    }
    return rows;
  } finally {
    await input.close().catch(() => {});
    await child.status;
    await errors;
    await Deno.remove(home, { recursive: true });
  }
}

const QUESTION = new TextEncoder().encode(
  `${
    JSON.stringify({
      type: "control_request",
      request_id: "picker",
      request: { subtype: "initialize" },
    })
  }\n`,
);

/** Splits a stream of text into lines, and stops reading with its consumer. */
async function* linesOf(
  bytes: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of bytes.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line !== "");
  }
}
