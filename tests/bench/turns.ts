import type { Rounds } from "./compare.ts";
import { median, quantile, type Shot } from "./load.ts";
import { memory, type Program, resetPeak, threadsMs } from "./processes.ts";
import type { Path } from "./shots.ts";

/** Events of an agent's turn. */
export const TURN_EVENTS = 300;

/** The time between two events of a turn, in milliseconds: 200 tokens a second. */
export const TURN_PACE_MS = 5;

/** How many sessions run at once. */
const SESSIONS = 10;

/** The size of each request of a session, in bytes. */
const TURN_BYTES = [100_000, 200_000, 400_000, 600_000, 800_000, 980_000];

const MIB = 1024 * 1024;

/** A program, with the path and the model that a session has there. */
export interface TurnEntry {
  readonly name: string;
  readonly program: Program;
  readonly path: Path;
  readonly model: string;
  readonly token: string;
}

/** The cost of the turns of one round. */
interface TurnFigures {
  /** Processor time of each turn. */
  readonly processorMs: number;
  readonly firstOutputMs: readonly number[];
  /** The rise of resident memory from before the round to its peak. */
  readonly risenBytes: number;
}

/**
 * Runs ten sessions of a coding agent at once through each program in turn. The requests of a session grow from 100 KB
 * to 1 MB, with 30 tools and a loop of tool calls, and each answer streams 300 events. Prints the processor time of a
 * turn, the time until the first output and how much the program adds to it, and the memory (Linux).
 *
 * @param entries The first is the provider without a program before it.
 */
export async function reportTurns(
  title: string,
  entries: readonly TurnEntry[],
  { warmUp, measured }: Rounds,
): Promise<void> {
  console.log(`\n${title}, ${SESSIONS} sessions at a time`);
  const results = entries.map((): TurnFigures[] => []);
  for (let round = -warmUp; round < measured; round++) {
    for (const [position, entry] of entries.entries()) {
      const figures = await runSessions(entry);
      if (round >= 0) results[position]?.push(figures);
    }
  }
  const first = times(results[0] ?? []);
  entries.forEach(({ name }, position) => {
    const rounds = results[position] ?? [];
    const own = times(rounds);
    const added = (share: number) =>
      quantile(own, share) - quantile(first, share);
    console.log(
      `  ${name.padEnd(30)} ${
        median(rounds.map((round) => round.processorMs)).toFixed(1).padStart(6)
      } ms CPU a turn, first output ${quantile(own, 0.5).toFixed(1)} ms (+${
        added(0.5).toFixed(1)
      }), p99 ${quantile(own, 0.99).toFixed(1)} ms (+${
        added(0.99).toFixed(1)
      }), ${
        (median(rounds.map((round) => round.risenBytes)) / MIB).toFixed(0)
      } MiB more`,
    );
  });
}

async function runSessions(entry: TurnEntry): Promise<TurnFigures> {
  const { pid } = entry.program;
  await resetPeak(pid);
  const { now } = await memory(pid);
  const before = await threadsMs(pid);
  const sessions = await Promise.all(
    Array.from(
      { length: SESSIONS },
      (_, session) => runSession(entry, session),
    ),
  );
  const firstOutputMs = sessions.flat();
  return {
    processorMs: (await threadsMs(pid) - before) / firstOutputMs.length,
    firstOutputMs,
    risenBytes: (await memory(pid)).peak - now,
  };
}

/** Runs the turns of one session and returns the time until the first output of each. */
async function runSession(
  entry: TurnEntry,
  session: number,
): Promise<number[]> {
  const firstOutputMs: number[] = [];
  for (const bytes of TURN_BYTES) {
    // Agents of different people begin their turns at different moments.
    await new Promise((resolve) => setTimeout(resolve, 37 * session));
    const { path, ...init } = turnShot(entry, session, bytes);
    const began = performance.now();
    const answer = await fetch(entry.program.url + path, {
      method: "POST",
      ...init,
    });
    let events = 0;
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      const text = decoder.decode(chunk);
      if (events === 0 && text.includes("word")) {
        firstOutputMs.push(performance.now() - began);
      }
      events += text.split("word").length - 1;
    }
    if (answer.status !== 200 || events < TURN_EVENTS - 20) {
      throw new Error(`Got status ${answer.status}, ${events} events`);
    }
  }
  return firstOutputMs;
}

/** Returns a request as Claude Code (Messages) or Codex (Responses) sends it at some length of its history. */
function turnShot(
  { path, model, token }: TurnEntry,
  session: number,
  bytes: number,
): Shot {
  const key = `${path} ${session}`;
  const history = histories.get(key) ?? makeHistory(path, session);
  histories.set(key, history);
  let size = history.rest.length + history.opening.length;
  const end = history.steps.findIndex(({ length }) => (size += length) > bytes);
  const steps = history.steps.slice(0, end < 0 ? undefined : end);
  return {
    path,
    body: `{"model":"${model}","${
      path === "/v1/messages" ? "messages" : "input"
    }":[${[history.opening, ...steps].join(",")}],${history.rest}`,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      "x-claude-code-session-id": `bench-${session}`,
      "x-bench": "turn",
    },
  };
}

/** The JSON of a session's requests. */
interface History {
  /** The person's first message. */
  readonly opening: string;
  /** The rounds of the tool loop, each as the elements of a list without its brackets. */
  readonly steps: readonly string[];
  /** The other fields of the request, without the opening brace. */
  readonly rest: string;
}

const histories = new Map<string, History>();

/** The number of rounds: enough for a megabyte. */
const STEPS = 250;

function makeHistory(path: Path, session: number): History {
  const isMessages = path === "/v1/messages";
  const step = isMessages ? messagesStep : responsesStep;
  const opening = { type: "text", text: prose(300, session) };
  return {
    opening: JSON.stringify({
      role: "user",
      content: [isMessages ? opening : { ...opening, type: "input_text" }],
    }),
    steps: Array.from(
      { length: STEPS },
      (_, turn) => JSON.stringify(step(session, turn)).slice(1, -1),
    ),
    rest: JSON.stringify(settings(isMessages, prose(20_000, session))).slice(1),
  };
}

function settings(isMessages: boolean, system: string): object {
  const tools = Array.from({ length: 30 }, (_, tool) => ({
    name: `tool_${tool}`,
    description: prose(1200, tool),
    ...(isMessages
      ? { input_schema: toolSchema(tool) }
      : { type: "function", strict: false, parameters: toolSchema(tool) }),
  }));
  const mark = { cache_control: { type: "ephemeral" } };
  return isMessages
    ? {
      max_tokens: 32_000,
      stream: true,
      system: [{ type: "text", text: system, ...mark }],
      tools,
    }
    : { stream: true, store: false, instructions: system, tools };
}

function toolSchema(tool: number): object {
  return {
    type: "object",
    properties: {
      path: { type: "string", description: prose(200, tool) },
      limit: { type: "integer", minimum: 1, maximum: 2000 },
      mode: { type: "string", enum: ["read", "write", "append"] },
    },
    required: ["path"],
    additionalProperties: false,
  };
}

/** Returns one round of the tool loop: the model's text and call, and the tool's result. */
function messagesStep(session: number, turn: number): readonly object[] {
  const id = `toolu_${session}_${String(turn).padStart(8, "0")}`;
  const { name, input, result } = callOf(turn);
  return [
    {
      role: "assistant",
      content: [
        { type: "text", text: prose(250, turn) },
        { type: "tool_use", id, name, input },
      ],
    },
    {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: id,
        content: [{ type: "text", text: result }],
      }],
    },
  ];
}

function responsesStep(session: number, turn: number): readonly object[] {
  const call_id = `call_${session}_${String(turn).padStart(8, "0")}`;
  const { name, input, result } = callOf(turn);
  return [
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: prose(250, turn) }],
    },
    {
      type: "function_call",
      call_id,
      name,
      arguments: JSON.stringify(input),
    },
    { type: "function_call_output", call_id, output: result },
  ];
}

function callOf(turn: number) {
  return {
    name: `tool_${turn % 30}`,
    input: { path: `src/file_${turn}.ts`, limit: 200, mode: "read" },
    result: code(4000, turn),
  };
}

const WORDS =
  "the model reads a file and changes one function so that its test passes again without other changes"
    .split(" ");

/** Returns prose of a length. Different seeds give different texts. */
function prose(length: number, seed: number): string {
  let text = "";
  for (let at = seed; text.length < length; at += 1 + seed % 5) {
    text += `${WORDS[at % WORDS.length]}${at % 11 === 0 ? ".\n" : " "}`;
  }
  return text.slice(0, length);
}

/** Returns a listing like those of tools, with line numbers, tabs, quotes and some text that is not ASCII. */
function code(length: number, seed: number): string {
  let text = "";
  for (let line = 1; text.length < length; line++) {
    text += `${line}\tconst value${seed + line} = read("${
      prose(20, seed + line)
    }", { limit: ${line} });${line % 9 === 0 ? " // größer — ok" : ""}\n`;
  }
  return text.slice(0, length);
}

function times(rounds: readonly TurnFigures[]): readonly number[] {
  return rounds.flatMap(({ firstOutputMs }) => firstOutputMs);
}
