import assert from "node:assert/strict";

/** A program in a terminal of 120 columns and 40 rows. */
export interface Terminal extends AsyncDisposable {
  /** Types a text or keys. */
  type(text: string): Promise<void>;
  /**
   * Waits until the program has shown a text, since the last call. White space is left out of the screen, because
   * programs move the cursor instead of writing it.
   */
  shows(expected: RegExp): Promise<void>;
}

/** The keys of a terminal. */
export const KEYS = { enter: "\r", escape: "\x1b" } as const;

/** More time than a step of any client takes on a busy machine, in milliseconds. */
const STEP_MS = 60_000;

const POLL_MS = 100;

/**
 * Starts a program in a pseudo-terminal, which `script` of util-linux creates.
 *
 * @param command The program and its arguments, without quotes.
 */
export function startTerminal(
  command: readonly string[],
  { cwd, env }: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
  },
): Terminal {
  const line = command.map((word) => `'${word}'`).join(" ");
  const child = new Deno.Command("script", {
    args: ["-qfec", `stty cols 120 rows 40; exec ${line}`, "/dev/null"],
    cwd,
    clearEnv: true,
    env: { TERM: "xterm-256color", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const input = child.stdin.getWriter();
  let raw = "";
  const reading = (async () => {
    for await (
      const part of child.stdout.pipeThrough(new TextDecoderStream())
    ) {
      raw += part;
      // Clients ask for the cursor and the terminal's kind, and wait for the answer.
      if (part.includes("\x1b[6n")) await type("\x1b[1;1R");
      if (part.includes("\x1b[c")) await type("\x1b[?62;c");
    }
  })();
  let seen = 0;

  async function type(text: string): Promise<void> {
    await input.write(new TextEncoder().encode(text)).catch(() => {});
  }

  return {
    type,
    async shows(expected) {
      for (let waitedMs = 0; waitedMs < STEP_MS; waitedMs += POLL_MS) {
        const { length } = raw;
        const found = expected.exec(plainScreen(raw.slice(seen)));
        if (found !== null) {
          seen = length;
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      assert.fail(
        `No ${expected} on the screen:\n${plainScreen(raw).slice(-4000)}`,
      );
    },
    async [Symbol.asyncDispose]() {
      await input.close().catch(() => {});
      try {
        child.kill("SIGTERM");
      } catch {
        // It has ended.
      }
      await child.status;
      await reading;
    },
  };
}

const SEQUENCE_REGEXP =
  // deno-lint-ignore no-control-regex -- the sequences of a terminal are control characters
  /\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|.)/g;

/** Returns what a program wrote, without the sequences that move, colour or erase, and without white space. */
function plainScreen(raw: string): string {
  return raw.replace(SEQUENCE_REGEXP, "").replace(/\s/g, "");
}
