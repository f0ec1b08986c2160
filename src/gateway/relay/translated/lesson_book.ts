import type {
  Caller,
  Config,
  ConnectionModel,
  Deployment,
} from "../../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import type { Log } from "../../observe/log.ts";
import {
  agreed,
  configLine,
  type Lesson,
  lessonText,
  strictest,
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
  /** The time for which the lesson is kept, from now, in milliseconds. */
  readonly ms: number;
}

/**
 * Keeps the lessons of refusals about the models of connections (docs/translation.md#a-refusal-teaches). A lesson holds
 * for the caller whose request was refused. Once two callers have learned a lesson, it holds for all callers. So no
 * single caller changes another caller's requests.
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
  /** Sends each lesson to the other threads and replicas; default: there are no others. */
  readonly publish?: ((taught: TaughtLesson) => void) | undefined;
}

/**
 * The time for which a lesson is kept. After that, the provider is asked again, because the provider may have changed.
 */
const KEPT_MS = 86_400_000;

/**
 * The time after a refusal of the plainest body until such a body is tried again, in milliseconds. The refusal may have
 * had another reason.
 */
const NO_PLAIN_TRY_MS = 600_000;

/** The most lessons of a caller about a model, far more than any caller needs. */
const MAX_LESSONS = 64;

/** The most callers of one lesson. A further caller replaces the oldest. With two callers, the lesson holds for all. */
const MAX_CALLERS = 64;

interface Kept {
  readonly lesson: Lesson;
  readonly untilMs: number;
}

/** The lessons of a model, by their subjects and the callers who learned them. */
type Page = Map<string, Map<string, Kept>>;

/** Creates an empty book. The lessons belong to objects of the configuration, so a reload clears the book. */
export function createLessonBook(
  { clock, log, publish }: LessonBookOptions,
): LessonBook {
  const pages = new WeakMap<ConnectionModel, Page>();

  /** Adds a lesson. Returns false when the caller has too many lessons. */
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
    const [kept = lesson] = strictest(listOf(earlier), [lesson]);
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
      return strictest(listOf(commonOf(callers)), listOf(own));
    });
  }

  /** Returns the lesson about the same subject that holds for all callers; `undefined` when there is none. */
  function common(model: ConnectionModel, lesson: Lesson): Lesson | undefined {
    return commonOf(pages.get(model)?.get(subjectOf(lesson)) ?? new Map());
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

/** Returns the lesson that two callers have learned in common; `undefined` when there is none. */
function commonOf(callers: ReadonlyMap<string, Kept>): Lesson | undefined {
  return agreed([...callers.values()].map(({ lesson }) => lesson));
}

function listOf(lesson: Lesson | undefined): readonly Lesson[] {
  return lesson === undefined ? [] : [lesson];
}
