import { type ErrorKind, GatewayError } from "@gateway/base/error";
import {
  type AnswerJob,
  type Failure,
  type Recall,
  type RequestJob,
  type TranslatedBody,
  UpstreamFailure,
  type WrittenAnswer,
} from "@gateway/codecs";
import {
  type CallFailureKind,
  UpstreamCallError,
} from "../../upstream/failure.ts";

/** The reasoning that is kept for calls, by their ids. */
export type RecalledReasoning = Awaited<ReturnType<Recall>>;

/** A message to a translation thread. A thread has one job at a time. */
export type ThreadOrder =
  | { readonly kind: "request"; readonly job: RequestJob }
  | { readonly kind: "answer"; readonly job: AnswerJob }
  | { readonly kind: "recalled"; readonly reasoning: RecalledReasoning };

/** A message from a translation thread. */
export type ThreadReport =
  /** The request needs the reasoning that is kept for these calls. */
  | { readonly kind: "recall"; readonly callIds: readonly string[] }
  | { readonly kind: "request_done"; readonly result: TranslatedBody }
  | { readonly kind: "answer_done"; readonly result: WrittenAnswer }
  | { readonly kind: "failed"; readonly error: SentError }
  /** The thread ended by itself, so its job ended too. */
  | { readonly kind: "died" };

/** A thread that translates. */
export interface TranslationThread {
  send(order: ThreadOrder): void;
  /** Ends the thread at once, with its job. */
  end(): void;
}

/** Starts a thread. It reports nothing before it receives an order. */
export type StartTranslationThread = (
  onReport: (report: ThreadReport) => void,
) => TranslationThread;

/** An error as plain data, because a message between threads loses the error's class. */
type SentError =
  | {
    readonly type: "gateway";
    readonly kind: ErrorKind;
    /** Defined for an error about an upstream's answer. */
    readonly failureKind?: CallFailureKind;
    readonly message: string;
    readonly options: {
      readonly param?: string;
      readonly type?: string;
      readonly code?: string;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly headers: Readonly<Record<string, string>>;
    };
  }
  | { readonly type: "upstream"; readonly failure: Failure }
  /** A bug. The error's message may quote a request, so only the error's name is sent. */
  | { readonly type: "unforeseen"; readonly name: string };

/** Converts an error to plain data, without its cause. */
export function sentError(error: unknown): SentError {
  if (error instanceof UpstreamFailure) {
    return { type: "upstream", failure: error.failure };
  }
  if (error instanceof GatewayError) {
    const { kind, message, param, type, code, details, headers } = error;
    return {
      type: "gateway",
      kind,
      ...(error instanceof UpstreamCallError
        ? { failureKind: error.failureKind }
        : {}),
      message,
      options: {
        ...(param === undefined ? {} : { param }),
        ...(type === undefined ? {} : { type }),
        ...(code === undefined ? {} : { code }),
        ...(details === undefined ? {} : { details }),
        headers,
      },
    };
  }
  const name = error instanceof Error ? error.name : typeof error;
  return { type: "unforeseen", name };
}

/** Restores the error from the data of {@linkcode sentError}. */
export function receivedError(error: SentError): Error {
  switch (error.type) {
    case "gateway":
      return error.failureKind === undefined
        ? new GatewayError(error.kind, error.message, error.options)
        : new UpstreamCallError(
          error.failureKind,
          error.message,
          error.options,
        );
    case "upstream":
      return new UpstreamFailure(error.failure);
    case "unforeseen":
      return brokenThread(`it threw a ${error.name}`);
  }
}

/** Returns the error for the request whose thread failed. */
export function brokenThread(reason: string): GatewayError {
  return new GatewayError(
    "internal",
    "Cannot translate the body: the translation thread failed. Send a smaller one or try again.",
    {
      code: "translation_failed",
      cause: new Error(`The translation thread failed: ${reason}`),
    },
  );
}
