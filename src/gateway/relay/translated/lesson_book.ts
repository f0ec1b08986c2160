import type {
  Caller,
  Config,
  ConnectionModel,
  Deployment,
} from "../../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import type { Log } from "../../observe/log.ts";
import {
  EFFORT_WORDS,
  type Lesson,
  lessonText,
  merged,
  PREFILL,
  subjectOf,
} from "@gateway/codecs";
import { tokenDigest } from "../routing/cool_down.ts";

/** A lesson of a connection's model, as threads and replicas send it to each other. */
export interface TaughtLesson {
  /** The connection's id. */
  readonly connectionId: string;
  /** The id of the model. */
  readonly model: string;
  /** The `tokenDigest` of the caller whose request was refused. */
  readonly token: string;
  readonly lesson: Lesson;
  /** The time for which it is kept, from now, in milliseconds. */
  readonly ms: number;
}

/**
 * Keeps the lessons of refusals about the models of connections (docs/translation.md#a-refusal-teaches). A lesson holds
 * for the caller whose request was refused. It holds for all once two callers have learned it, so that no caller changes
 * another's requests.
 */
export interface LessonBook {
  /** Returns the lessons for a caller's request to a deployment. */
  known(deployment: Deployment, caller: Caller): readonly Lesson[];
  /** Keeps lessons that a provider has just confirmed by its answer to a caller's request. */
  keep(
    deployment: Deployment,
    caller: Caller,
    lessons: readonly Lesson[],
  ): void;
  /** Forgets a caller's lessons, because the provider accepted a request without them. */
  forget(
    deployment: Deployment,
    caller: Caller,
    lessons: readonly Lesson[],
  ): void;
  /** Keeps a lesson of another thread or replica. A model that is not in the configuration is ignored. */
  follow(taught: TaughtLesson, config: Pick<Config, "connections">): void;
}

interface LessonBookOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Sends each lesson to the other threads and replicas; default: there are none. */
  readonly publish?: ((taught: TaughtLesson) => void) | undefined;
}

/** The time for which a lesson is kept. Then the provider is asked again, because it may have changed. */
const KEPT_MS = 86_400_000;

/** The time without a plainest body after one that was refused. The next request may have another fault. */
const NO_PLAIN_TRY_MS = 600_000;

/** The most lessons of a caller about a model, far more than any needs. */
const MAX_LESSONS = 64;

/** The most callers of one lesson; the oldest gives way. Two are enough for it to hold for all. */
const MAX_CALLERS = 64;

interface Kept {
  readonly lesson: Lesson;
  readonly untilMs: number;
}

/** The lessons of a model, by their subjects and the callers who learned them. */
type Page = Map<string, Map<string, Kept>>;

/** Creates an empty book. The objects of the configuration are its keys, so a reload clears it. */
export function createLessonBook(
  { clock, log, publish }: LessonBookOptions,
): LessonBook {
  const pages = new WeakMap<ConnectionModel, Page>();

  /** Returns true unless the caller has too many lessons. */
  function add(
    model: ConnectionModel,
    { token, lesson, ms }: Pick<TaughtLesson, "token" | "lesson" | "ms">,
  ): boolean {
    const page: Page = pages.get(model) ?? new Map();
    pages.set(model, page);
    const subject = subjectOf(lesson);
    const callers = page.get(subject) ?? new Map<string, Kept>();
    const earlier = callers.get(token)?.lesson;
    const own = [...page.values()].filter((one) => one.has(token));
    if (earlier === undefined && own.length >= MAX_LESSONS) return false;
    const kept = earlier === undefined ? lesson : both(earlier, lesson);
    page.set(subject, callers);
    callers.delete(token);
    callers.set(token, { lesson: kept, untilMs: clock.elapsedMs() + ms });
    const [oldest = ""] = callers.keys();
    if (callers.size > MAX_CALLERS) callers.delete(oldest);
    return true;
  }

  function known({ model }: Deployment, caller: Caller): readonly Lesson[] {
    const page = pages.get(model);
    if (page === undefined) return [];
    const token = tokenDigest(caller);
    return [...page].flatMap(([subject, callers]) => {
      for (const [one, { untilMs }] of callers) {
        if (untilMs <= clock.elapsedMs()) callers.delete(one);
      }
      if (callers.size === 0) page.delete(subject);
      const own = callers.get(token)?.lesson;
      const common = alike([...callers.values()]);
      if (own === undefined) return common ?? [];
      return common === undefined ? own : both(common, own);
    });
  }

  /** Returns the lesson about the same subject that holds for all callers; `undefined` when there is none. */
  function common(model: ConnectionModel, lesson: Lesson): Lesson | undefined {
    const callers = pages.get(model)?.get(subjectOf(lesson));
    return alike([...callers?.values() ?? []]);
  }

  return {
    known,
    keep({ connection, model }, caller, lessons) {
      const [connectionId, token] = [connection.id, tokenDigest(caller)];
      const kept = lessons.filter((lesson) => {
        const ms = lesson.move === "plain" ? NO_PLAIN_TRY_MS : KEPT_MS;
        const taught = { token, lesson, ms };
        if (!add(model, taught)) return false;
        publish?.({ connectionId, model: model.id, ...taught });
        return true;
      });
      const lasting = kept.flatMap((one) => common(model, one) ?? []);
      const own = kept.filter((one) =>
        one.move !== "plain" && common(model, one) === undefined
      );
      const head = { connection: connection.name, model: model.id };
      if (own.length > 0) {
        const { name: token } = caller;
        const lesson = own.map(lessonText);
        log.write("lesson_learned", { ...head, token, lesson });
      }
      if (lasting.length > 0) {
        const lesson = lasting.map(lessonText);
        const config = configLine(lasting);
        log.write("lesson_learned", { ...head, lesson, config });
      }
    },
    forget({ connection, model }, caller, lessons) {
      for (const lesson of lessons) {
        const taught = { token: tokenDigest(caller), lesson, ms: 0 };
        add(model, taught);
        publish?.({ connectionId: connection.id, model: model.id, ...taught });
      }
    },
    follow({ connectionId, model: modelId, ...taught }, config) {
      const model = config.connections.find(({ id }) => id === connectionId)
        ?.models.find(({ id }) => id === modelId);
      if (model !== undefined) add(model, taught);
    },
  };
}

/** Returns the lesson that two callers have learned alike: what both were refused. `undefined` when none have. */
function alike(all: readonly Kept[]): Lesson | undefined {
  // Nothing shows that two refusals without a name had one cause.
  const kept = all.filter(({ lesson: { cause } }) => cause === undefined);
  const [first, second] = kept;
  if (first === undefined || second === undefined) return undefined;
  const { lesson } = first;
  if (lesson.move === "clamp") {
    const [, limit = ""] = kept.map(({ lesson: { words } }) => Number(words[0]))
      .sort((one, other) => one - other).map(String);
    return { ...lesson, words: [limit] };
  }
  if (lesson.move !== "nearest") return lesson;
  const words = EFFORT_WORDS.filter((word) =>
    kept.filter((one) => !one.lesson.words.includes(word)).length < 2
  );
  return words.length === EFFORT_WORDS.length || words.length === 0
    ? undefined
    : { ...lesson, words };
}

/** Returns earlier and later lessons. Of two about the same subject, the stricter one counts. */
export function strictest(
  earlier: readonly Lesson[],
  later: readonly Lesson[],
): readonly Lesson[] {
  return merged(
    earlier,
    later.map((one) => {
      const known = earlier.find((two) => subjectOf(two) === subjectOf(one));
      return known === undefined ? one : both(known, one);
    }),
  );
}

/** Returns the stricter one of two lessons about a subject: an error may name only one of the refused efforts. */
function both(earlier: Lesson, later: Lesson): Lesson {
  if (later.move === "clamp") {
    return Number(earlier.words[0]) < Number(later.words[0]) ? earlier : later;
  }
  if (later.move !== "nearest") return later;
  const words = later.words.filter((word) => earlier.words.includes(word));
  return words.length === 0 ? later : { ...later, words };
}

/** Returns the options of a model that make lessons permanent, besides the fields that it omits already. */
export function configLine(
  lessons: readonly Lesson[],
  omit: readonly string[] = [],
): string {
  const isOmitted = ({ move, field, words, isStrict }: Lesson) =>
    move === "omit" && words.length === 0 && !isStrict && field !== PREFILL;
  const omitted = lessons.filter(isOmitted).map(({ field }) => field);
  const limits = lessons.filter(({ move }) => move === "clamp")
    .map(({ words }) => Number(words[0]));
  const others = lessons.filter((one) =>
    !isOmitted(one) && one.move !== "clamp"
  );
  return [
    ...listOption("omit", omitted.length === 0 ? [] : [...omit, ...omitted]),
    ...(limits.length === 0
      ? []
      : [`max_output_tokens: ${Math.min(...limits)}`]),
    ...listOption("lessons", others.map(lessonText)),
  ].join(", ");
}

function listOption(name: string, values: readonly string[]): string[] {
  const texts = [...new Set(values)].map((value) =>
    /^\w[\w.]*$/.test(value) ? value : JSON.stringify(value)
  );
  return texts.length === 0 ? [] : [`${name}: [${texts.join(", ")}]`];
}
