import { nativeProtocols, servedProtocols } from "@gateway/gateway";
import { type Config, type ConnectionModel } from "@gateway/gateway/config";
import { isJsonObject, type JsonValue } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import {
  judgeRefusal,
  type Lesson,
  lessonText,
  readLesson,
  strictest,
} from "@gateway/codecs";
import type { RequestTools } from "../gateway_client.ts";
import { type Trial, trialsOf } from "./trials.ts";
import { openGateway, type Reply, type TriedPath } from "./tried_path.ts";

/** The result of one small request to a model. */
export interface TrialResult {
  readonly connection: string;
  readonly model: string;
  /** The caller's protocol. */
  readonly protocol: Protocol;
  readonly mode: "native" | "translated";
  /** What was tried, such as `a tool`. */
  readonly trial: string;
  /**
   * `without`: the request succeeded, but only without a field, or with a change that a refusal caused. `untried`: an
   * earlier trial failed, or a bound was reached.
   */
  readonly result: "works" | "without" | "refused" | "untried";
  /** The fields of the request that were dropped. */
  readonly dropped: readonly string[];
  /** The lessons, in the words of the log. */
  readonly lessons: readonly string[];
  /**
   * The reason why the trial was refused or not tried; empty otherwise. A provider's reason is in the provider's words.
   */
  readonly reason: string;
  /** The number of requests that were sent for the trial. */
  readonly requests: number;
  /** The tokens of the requests and the answers, as far as they are known. */
  readonly tokens: number;
  /** The cost in US dollars; 0 when the model has no price. */
  readonly costUsd: number;
}

/** The options of {@linkcode tryModels}. */
interface TryOptions extends RequestTools {
  /** Returns milliseconds on a monotonic clock. */
  readonly elapsedMs: () => number;
  /** Shows what is tried next, as one line. */
  readonly onProgress: (line: string) => void;
  /** The only model to try; when absent, all models are tried. */
  readonly model?: string | undefined;
}

/** The maximum number of requests, and the time in milliseconds after which no request begins. */
const MOST = { requests: 1000, ms: 20 * 60_000 };

/**
 * Tries each model of each enabled connection with a handful of small requests, in every protocol in which the gateway
 * offers the model. The requests pass through a separate gateway that serves only this model.
 */
export async function tryModels(
  config: Config,
  options: TryOptions,
): Promise<readonly TrialResult[]> {
  const paths = config.connections.filter(({ enabled }) => enabled)
    .flatMap((connection) =>
      connection.models.map((model) => ({ connection, model }))
    )
    .filter(({ model }) => [undefined, model.id].includes(options.model))
    .flatMap((deployment) => {
      const native = nativeProtocols([deployment]);
      return servedProtocols([deployment]).map((protocol): TriedPath => ({
        deployment,
        protocol,
        mode: native.includes(protocol) ? "native" : "translated",
      }));
    });
  const results: TrialResult[] = [];
  const endMs = options.elapsedMs() + MOST.ms;
  for (const [index, path] of paths.entries()) {
    const { deployment: { connection, model }, protocol, mode } = path;
    options.onProgress(
      `Trying ${connection.name}: ${model.id}, ${protocol}, ${mode} (${
        index + 1
      } of ${paths.length})`,
    );
    const mayAsk = () =>
      sentOf(results) < MOST.requests && options.elapsedMs() < endMs;
    for await (const result of tryPath(path, { ...options, config, mayAsk })) {
      results.push(result);
    }
  }
  return results;
}

/** Returns the number of requests that were sent for some results. */
export function sentOf(
  results: readonly Pick<TrialResult, "requests">[],
): number {
  return results.reduce((sum, { requests }) => sum + requests, 0);
}

/**
 * Tries a model in one protocol. Sends no more requests after the first trial (a request for one word) fails, or after
 * the provider gives no answer.
 */
async function* tryPath(
  path: TriedPath,
  options: TryOptions & {
    readonly config: Config;
    /** Returns false when a bound is reached. */
    readonly mayAsk: () => boolean;
  },
): AsyncGenerator<TrialResult> {
  const { deployment: { connection, model }, protocol, mode } = path;
  let taught = lessonsOf(model);
  let ask = openGateway(path, taught, options);
  const head = {
    ...{ connection: connection.name, model: model.id },
    ...{ protocol, mode },
  };
  let before: JsonValue | undefined;
  let failed: string | undefined;
  for (const trial of trialsOf(path.deployment, protocol)) {
    const body = trial.body(before);
    const reason = failed ?? (options.mayAsk() ? undefined : BOUND);
    if (body === undefined || reason !== undefined) {
      const untried = { ...UNTRIED, reason: reason ?? NO_CALL };
      yield { ...head, trial: trial.name, ...untried };
      continue;
    }
    const sums = { requests: 0, tokens: 0, costUsd: 0 };
    const send = async (by: typeof ask): Promise<Sent> => {
      const answer = await by(body);
      const result = resultOf(trial, answer, model);
      sums.requests++;
      sums.tokens += result.tokens;
      sums.costUsd += result.costUsd;
      return { by, answer, result };
    };
    const sendWith = async (lessons: readonly Lesson[]) => {
      if (!options.mayAsk()) return undefined;
      const all = strictest(taught, lessons);
      const sent = await send(openGateway(path, all, options));
      if (sent.answer.status !== 200 || isSuspecting(sent.answer)) {
        return undefined;
      }
      if (mode === "translated") return sent;
      const learned = { lessons: lessons.map(lessonText) };
      const result = { ...sent.result, result: "without", ...learned } as const;
      return { ...sent, result };
    };
    const first = await send(ask);
    const remedies = remediesOf(first.answer, trial, path);
    const { answer, by, result } = await heal(remedies, sendWith) ?? first;
    [before, ask] = [answer.body, by];
    taught = strictest(taught, lessonsOf(result));
    if (result.result === "refused" && trial.name === "a word") {
      failed = "a word failed";
    } else if (answer.status === 0 || answer.line.failure === "unreachable") {
      failed = "the provider gave no answer";
    }
    yield {
      ...head,
      mode: modeOf(answer) ?? mode,
      trial: trial.name,
      ...result,
      ...sums,
    };
  }
}

/**
 * Returns the mode in a request's log line. It may differ from the mode of the path, because a model may serve only
 * some requests of a protocol natively.
 */
function modeOf({ line: { mode } }: Reply): TrialResult["mode"] | undefined {
  return mode === "native" || mode === "translated" ? mode : undefined;
}

/** A request's answer and result, and the gateway that the request was sent through. */
interface Sent {
  readonly by: ReturnType<typeof openGateway>;
  readonly answer: Reply;
  readonly result: ReturnType<typeof resultOf>;
}

/**
 * Finds the first list of lessons that avoids the refusal. Then removes each lesson without which the request still
 * succeeds.
 */
async function heal(
  remedies: readonly (readonly Lesson[])[],
  sendWith: (lessons: readonly Lesson[]) => Promise<Sent | undefined>,
): Promise<Sent | undefined> {
  for (const remedy of remedies) {
    let healed = await sendWith(remedy);
    if (healed === undefined) continue;
    for (const part of remedy.map(lessonText)) {
      const all = lessonsOf(healed.result);
      const fewer = all.filter((one) => lessonText(one) !== part);
      if (fewer.length === all.length || fewer.length === 0) continue;
      healed = await sendWith(fewer) ?? healed;
    }
    return healed;
  }
  return undefined;
}

/** Returns true when the provider refused a part of the request without naming this part. */
function isSuspecting({ line }: Reply): boolean {
  return textsOf(line.lesson).some((text) => text.endsWith("(suspected)"));
}

/** Returns the lists of lessons that may avoid a refusal. */
function remediesOf(
  answer: Reply,
  { remedies = [] }: Trial,
  { protocol, mode }: TriedPath,
): readonly (readonly Lesson[])[] {
  const { status, reason: message } = answer;
  const isRefused = [400, 413, 415, 422].includes(status);
  if (!isRefused && !isSuspecting(answer)) return [];
  if (mode === "translated") return remedies;
  return judgeRefusal({ kind: "invalid_request", status, message })
    .lessonsFor(protocol).filter(({ move }) => move === "stream")
    .map((lesson) => [lesson]);
}

/** Returns the lessons of a result or of a model. Leaves out lessons that a configuration cannot hold. */
export function lessonsOf(
  { lessons = [] }: Pick<ConnectionModel, "lessons">,
): readonly Lesson[] {
  return lessons.flatMap((text) => readLesson(text) ?? []);
}

const BOUND = "the bound on requests or time was reached";

const NO_CALL = "there was no call to answer";

const UNTRIED = {
  result: "untried",
  dropped: [],
  lessons: [],
  requests: 0,
  tokens: 0,
  costUsd: 0,
} as const;

function resultOf(
  trial: Trial,
  { status, text, body, line, reason }: Reply,
  { lessons: known = [] }: Pick<ConnectionModel, "lessons">,
): Omit<
  TrialResult,
  "connection" | "model" | "protocol" | "mode" | "trial" | "requests"
> {
  const usage = isJsonObject(line.usage) ? line.usage : {};
  const [dropped, applied] = [textsOf(line.dropped), textsOf(line.lesson)];
  const lessons = applied.filter((text) => !known.includes(text));
  const sums = {
    tokens: Number(usage.input_tokens ?? 0) + Number(usage.output_tokens ?? 0),
    costUsd: Number(line.cost_usd ?? 0),
  };
  if (status !== 200) {
    return { result: "refused", dropped: [], lessons: [], reason, ...sums };
  }
  const isWhole = dropped.length + lessons.length === 0;
  const fault = trial.fault?.(text, body) ?? "";
  const result = fault !== "" ? "refused" : isWhole ? "works" : "without";
  return { result, dropped, lessons, reason: fault, ...sums };
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
