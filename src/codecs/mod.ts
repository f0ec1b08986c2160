export { estimateUsage, type Usage } from "./canonical/answer/answer.ts";
export { foldAnswer } from "./canonical/answer/fold.ts";
export type { RememberedReasoning } from "./canonical/answer/remembered_reasoning.ts";
export type { AnswerContext, AnswerWatch } from "./canonical/codec.ts";
export { parseErrorBody } from "./canonical/failure/error_body.ts";
export {
  brokenAnswer,
  type Failure,
  type FailureKind,
  isOverLimit,
  meaningOf,
  REMEDIES,
  UpstreamFailure,
} from "./canonical/failure/failure.ts";
export { ABILITY_ROWS } from "./canonical/request/ability_row.ts";
export type { CanonicalRequest } from "./canonical/request/request.ts";
export { type AnswerEvent, isOutput } from "./canonical/stream/event.ts";
export { restoreNames } from "./canonical/tools/restore_tools.ts";
export { CODECS } from "./codecs.ts";
export {
  agreed,
  configLine,
  merged,
  remediesFor,
  strictest,
} from "./dialects/lesson_sets.ts";
export {
  isLesson,
  type Lesson,
  lessonText,
  readLesson,
  subjectOf,
} from "./dialects/lessons.ts";
export { judgeRefusal } from "./dialects/read_refusal.ts";
export {
  type AnswerJob,
  MAX_DEPTH,
  translateWhole,
  type WrittenAnswer,
} from "./jobs/answer_job.ts";
export { ownSeals } from "./jobs/own_seals.ts";
export {
  callerCodec,
  type Recall,
  type RequestJob,
  translateBody,
  type TranslatedBody,
} from "./jobs/request_job.ts";
export { translateRequest } from "./jobs/translate.ts";
export { openFold, openTranslator } from "./jobs/stream_job.ts";
export { suitabilityOf } from "./jobs/suitability.ts";
