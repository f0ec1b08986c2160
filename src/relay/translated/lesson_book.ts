import type {
  Config,
  ConnectionModel,
  Deployment,
} from "../../config/config.ts";
import type { Clock } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import { type Lesson, lessonText } from "../../protocols/dialects/lessons.ts";

/** A lesson of a connection's model, as threads and replicas send it to each other. */
export interface TaughtLesson {
  /** The connection's id. */
  readonly connectionId: string;
  /** The id of the model. */
  readonly model: string;
  readonly lesson: Lesson;
  /** The time for which it is kept, from now, in milliseconds. */
  readonly ms: number;
}

/** Keeps the lessons of refusals about the models of connections (docs/translation.md#a-refusal-teaches). */
export interface LessonBook {
  /** Returns the lessons for a deployment. */
  known(deployment: Deployment): readonly Lesson[];
  /** Keeps lessons that a provider has just confirmed by its answer. */
  keep(deployment: Deployment, lessons: readonly Lesson[]): void;
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

/** The most lessons of a model, far more than any needs. */
const MAX_LESSONS = 32;

interface Kept {
  readonly lesson: Lesson;
  readonly untilMs: number;
}

/** Creates an empty book. The objects of the configuration are its keys, so a reload clears it. */
export function createLessonBook(
  { clock, log, publish }: LessonBookOptions,
): LessonBook {
  const pages = new WeakMap<ConnectionModel, Map<string, Kept>>();

  function add(model: ConnectionModel, lesson: Lesson, ms: number): void {
    const page = pages.get(model) ?? new Map<string, Kept>();
    pages.set(model, page);
    const key = subjectOf(lesson);
    if (page.size >= MAX_LESSONS && !page.has(key)) return;
    const kept = both(page.get(key)?.lesson, lesson);
    page.set(key, { lesson: kept, untilMs: clock.elapsedMs() + ms });
  }

  function known({ model }: Deployment): readonly Lesson[] {
    const page = pages.get(model);
    if (page === undefined) return [];
    for (const [key, { untilMs }] of page) {
      if (untilMs <= clock.elapsedMs()) page.delete(key);
    }
    return [...page.values()].map(({ lesson }) => lesson);
  }

  return {
    known,
    keep({ connection, model }, lessons) {
      if (lessons.length === 0) return;
      const connectionId = connection.id;
      for (const lesson of lessons) {
        add(model, lesson, KEPT_MS);
        publish?.({ connectionId, model: model.id, lesson, ms: KEPT_MS });
      }
      log.write("lesson_learned", {
        connection: connection.name,
        model: model.id,
        lesson: lessons.map(lessonText),
        config: configLine(lessons),
      });
    },
    follow({ connectionId, model: modelId, lesson, ms }, config) {
      const model = config.connections.find(({ id }) => id === connectionId)
        ?.models.find(({ id }) => id === modelId);
      if (model !== undefined) add(model, lesson, ms);
    },
  };
}

/** Returns the later lesson. Of two lists of efforts, it keeps what both accept: an error may name one refused effort. */
function both(earlier: Lesson | undefined, later: Lesson): Lesson {
  if (later.move !== "nearest" || earlier === undefined) return later;
  const words = later.words.filter((word) => earlier.words.includes(word));
  return words.length === 0 ? later : { ...later, words };
}

/** Returns the text that is the same for two lessons of which the later one counts. */
export function subjectOf({ move, field }: Lesson): string {
  return `${move} ${field}`;
}

/** Returns the options of the model that make lessons permanent; `undefined` when none does. */
function configLine(lessons: readonly Lesson[]): string | undefined {
  const omitted = lessons.filter(({ move, words }) =>
    move === "omit" && words.length === 0
  );
  const limits = lessons.filter(({ move }) => move === "clamp");
  const options = [
    ...(omitted.length === 0 ? [] : [omitLine(omitted.map(fieldOf))]),
    ...limits.map(({ words }) => `max_output_tokens: ${words.join()}`),
  ];
  return options.length === 0 ? undefined : options.join(", ");
}

function fieldOf({ field }: Lesson): string {
  return field;
}

/** Returns the option of a model that leaves fields out of translated requests. */
export function omitLine(fields: readonly string[]): string {
  const names = [...new Set(fields)].map((field) =>
    field.includes("[") ? `"${field}"` : field
  );
  return `omit: [${names.join(", ")}]`;
}
