import assert from "node:assert/strict";
import { type History, runHistory, USUAL_SCALE } from "./history.ts";
import { withCopy } from "./planted/copy.ts";
import { SHARED_FAULTS } from "./planted/shared.ts";
import { shrink } from "./shrink.ts";
import { Trace } from "./world/trace.ts";

const ACTORS = [
  ...["session-1", "mood-of-a-1", "session-0", "reload-1", "session-2"],
  ...["end-of-b-1", "session-4", "mood-of-a-2", "session-3"],
];

/** Returns a history with these sessions and events, and these broken promises. */
function historyOf(actors: readonly string[], ...broken: string[]): History {
  const trace = new Trace(() => 0);
  return {
    ...{ seed: 1, requests: 1, virtualMs: 1, digest: 1, broken, trace, actors },
  };
}

Deno.test("shrink() leaves out all that the broken promise does not need", async () => {
  const needed = ["mood-of-a-1", "session-2", "session-4"];
  const { scale, history } = await shrink(USUAL_SCALE, (scale) => {
    const { kept = ACTORS } = scale;
    const isBroken = needed.every((one) => kept.includes(one));
    const one = isBroken ? "everyone is served: #2001" : "nobody waits: #1";
    return Promise.resolve(historyOf(kept, one));
  });
  assert.deepEqual(scale, { ...USUAL_SCALE, kept: needed });
  assert.deepEqual(history.actors, needed);
});

Deno.test("the other sessions begin as before when some sessions and events are left out", async () => {
  const scale = { minutes: 10, sessions: 12 };
  const all = await runHistory(7, scale);
  const kept = all.actors.filter((_, at) => at % 2 === 0);
  const fewer = await runHistory(7, { ...scale, kept });
  assert.deepEqual(fewer.actors, all.actors.slice(0, fewer.actors.length));
  const beginnings = ({ trace }: History) =>
    trace.last(Infinity).filter((line) => / #\d+000 : .* asks /.test(line))
      .filter((line) => {
        const [, session] = /#(\d+)000 /.exec(line) ?? [];
        return kept.includes(`session-${session}`);
      });
  assert.notEqual(beginnings(all).length, 0);
  assert.deepEqual(beginnings(fewer), beginnings(all));
});

Deno.test("task simulate --shrink finds a planted fault with a few events", async () => {
  const file = "gateway/shared/remote_sums.ts";
  const fault = SHARED_FAULTS[file]
    ?.find(({ name }) => name === "a failing store fails the request");
  assert(fault);
  const report = await withCopy(async (copy) => {
    const path = `${copy}/src/${file}`;
    const source = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, source.replace(fault.text, fault.wrong));
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--no-check", "--lock=tests/deno.lock"],
        ...["--allow-read", "--allow-env", "tests/simulation/main.ts"],
        ...["--seed", "4", "--seeds", "20", "--sessions", "12"],
        ...["--minutes", "12", "--until-broken", "--shrink", "--jobs", "1"],
      ],
      cwd: copy,
      stderr: "inherit",
      signal: AbortSignal.timeout(300_000),
    }).output();
    return new TextDecoder().decode(stdout);
  });
  const [, kept = ""] = /^replay it: .* --keep=(.*)$/m.exec(report) ?? [];
  const actors = kept.split(",");
  assert(actors.some((one) => one.startsWith("session-")), report);
  assert(actors.length <= 6, kept);
});
