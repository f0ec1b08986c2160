/**
 * A program for an environment that the test cannot enter. It starts the demo of an executable in a
 * directory, sends one request and ends the demo. It prints a {@linkcode SeenDemo} as JSON.
 *
 * Arguments: the executable, the directory and, if any, the number of the user who runs it.
 */
import { startProcess } from "../program/process.ts";

/** The results, and facts about the environment. */
export interface SeenDemo {
  readonly interfaces: readonly string[];
  /** The error of an attempt to write into the directory; absent when it succeeded. */
  readonly refusal?: string | undefined;
  readonly status: number;
  readonly text: string;
  /** The exit code. */
  readonly code: number;
}

if (import.meta.main) {
  const [path = "", directory = "", user] = Deno.args;
  const id = user === undefined ? {} : { uid: Number(user), gid: Number(user) };
  const gateway = await startProcess(path, {
    args: ["demo", "--port", "0"],
    cwd: directory,
    env: { HOME: directory, TMPDIR: directory },
    clearEnv: true,
    ...id,
  });
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: "Bearer demo-token",
      "content-type": "application/json",
    },
    body: JSON.stringify({
      model: "demo-a",
      messages: [{ role: "user", content: "Hello" }],
    }),
  });
  const text = await answer.text();
  gateway.kill("SIGTERM");
  const seen: SeenDemo = {
    interfaces: Deno.networkInterfaces().map(({ name }) => name),
    refusal: refusalOf(directory),
    status: answer.status,
    text,
    code: (await gateway.ended).code,
  };
  console.log(JSON.stringify(seen));
}

function refusalOf(directory: string): string | undefined {
  try {
    Deno.writeTextFileSync(`${directory}/new`, "");
  } catch (error) {
    return String(error);
  }
}
