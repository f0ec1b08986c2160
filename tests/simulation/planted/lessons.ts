import type { FaultsByFile } from "./fault.ts";

/** Faults of lessons. */
export const LESSON_FAULTS: FaultsByFile = {
  "codecs/dialects/lesson_sets.ts": [
    {
      name: "a lesson of one caller holds for all",
      text: "first === undefined || second === undefined",
      wrong: "first === undefined",
    },
  ],
  "gateway/relay/translated/lesson_book.ts": [
    {
      name: "a lesson is kept for a minute",
      text: "KEPT_MS = 86_400_000",
      wrong: "KEPT_MS = 60_000",
    },
    {
      name: "a lesson is kept for ever",
      text: "        if (untilMs <= clock.elapsedMs()) callers.delete(one);\n",
      wrong: "",
    },
    {
      name: "a lesson is not kept",
      text: "        if (!add(model, taught)) return false;\n",
      wrong: "",
    },
    {
      name: "others do not learn a lesson",
      text:
        "        publish?.({ connectionId, model: model.id, ...taught });\n",
      wrong: "",
    },
    {
      name: "a lesson of another thread is not kept",
      text: "      if (model !== undefined) add(model, taught);\n",
      wrong: "",
    },
    {
      name: "a lesson holds for its caller alone",
      text: "strictest(listOf(commonOf(callers)), listOf(own))",
      wrong: "listOf(own)",
    },
    {
      name: "the file's line is offered for one caller's lesson",
      text: "{ ...head, token, lesson }",
      wrong: "{ ...head, token, lesson, config: configLine(own) }",
    },
  ],
  "gateway/relay/translated/learning.ts": [
    {
      name: "a refusal teaches nothing",
      text: "    if (!this.#mayLearn() || this.#refusal === undefined)",
      wrong: "    if (this.#mayLearn() || this.#refusal === undefined)",
    },
    {
      name: "a strict connection learns",
      text: "return !connection.strict && (record",
      wrong: "return (record",
    },
    {
      name: "a request learns without end",
      text: "    facts.taught = (facts.taught ?? 0) + 1;\n",
      wrong: "",
    },
    {
      name: "a lesson replaces the ones before it",
      text: "    this.#taught = merged(this.#taught, lessons);\n",
      wrong: "    this.#taught = lessons;\n",
    },
    {
      name: "a suspected field is never sent again",
      text: "probes: this.#refused === undefined,",
      wrong: "probes: false,",
    },
  ],
  "gateway/relay/translated/relay_translated.ts": [
    {
      name: "a lesson that its provider has not confirmed is kept",
      text: "      if (response.status < 300) {\n        learning.accept",
      wrong: "      if (response.status > 0) {\n        learning.accept",
    },
  ],
  "gateway/relay/translated/open_request.ts": [
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
      text: "strictest(lessonsOf(model), known),",
      wrong: "lessonsOf(model),",
    },
  ],
  "gateway/upstream/read_response.ts": [
    {
      name: "the timer of an error's body stays",
      text: "  } finally {\n    cancel();\n",
      wrong: "  } finally {\n    // Nothing.\n",
    },
  ],
};
