import type { FaultsByFile } from "./fault.ts";

/** Faults of what a refusal teaches. */
export const LESSON_FAULTS: FaultsByFile = {
  "relay/translated/lesson_book.ts": [
    {
      name: "a lesson is kept for a minute",
      text: "KEPT_MS = 86_400_000",
      wrong: "KEPT_MS = 60_000",
    },
    {
      name: "a lesson is kept for ever",
      text: "      if (untilMs <= clock.elapsedMs()) page.delete(key);\n",
      wrong: "",
    },
    {
      name: "a lesson is not kept",
      text: "        add(model, lesson, KEPT_MS);\n",
      wrong: "",
    },
    {
      name: "others do not learn a lesson",
      text:
        "        publish?.({ connectionId, model: model.id, lesson, ms: KEPT_MS });\n",
      wrong: "",
    },
    {
      name: "a lesson of another thread is not kept",
      text: "      if (model !== undefined) add(model, lesson, ms);\n",
      wrong: "",
    },
    {
      name: "a lesson is logged each time",
      text: "      if (lessons.length === 0) return;\n",
      wrong: "",
    },
  ],
  "relay/translated/relay_translated.ts": [
    {
      name: "a refusal teaches nothing",
      text: "    const lessons = mayLearn\n",
      wrong: "    const lessons = !mayLearn\n",
    },
    {
      name: "a strict connection learns",
      text: "!connection.strict && learned < MAX_TAUGHT",
      wrong: "learned < MAX_TAUGHT",
    },
    {
      name: "a request learns without end",
      text: "    record.facts.taught = learned + 1;\n",
      wrong: "",
    },
    {
      name: "a lesson replaces the ones before it",
      text: "    taught = merged(taught, lessons);\n",
      wrong: "    taught = lessons;\n",
    },
    {
      name: "a lesson that its provider has not confirmed is kept",
      text: "    if (response.status < 300) {\n      lessonBook.keep",
      wrong: "    if (response.status > 0) {\n      lessonBook.keep",
    },
    {
      name: "what was dropped is not named",
      text: "  if (dropped.size > 0) answer.dropped = [...dropped];\n",
      wrong: "",
    },
    {
      name: "a lesson is not in the log",
      text:
        "  if (lessons.length > 0) answer.lessons = lessons.map(lessonText);\n",
      wrong: "",
    },
    {
      name: "known lessons are not applied",
      text: "merged(lessonBook.known(deployment), taught),",
      wrong: "taught,",
    },
  ],
  "upstream/read_response.ts": [
    {
      name: "the timer of an error's body stays",
      text: "  } finally {\n    cancel();\n",
      wrong: "  } finally {\n    // Nothing.\n",
    },
  ],
};
