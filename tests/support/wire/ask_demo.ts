/**
 * A program for a place that the test cannot reach into: starts the demo of an executable in a directory,
 * asks it one question, ends it, and prints what it saw as JSON, a {@linkcode SeenDemo}.
 *
 * Arguments: the executable, the directory, and the number of the user whom it runs as, if any.
 */
import { startProcess } from "../program/process.ts";

/** What was seen of the demo and of where it ran. */
export interface SeenDemo {
  readonly interfaces: readonly string[];
  /** Why nothing could be written into the directory; absent where it could. */
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
