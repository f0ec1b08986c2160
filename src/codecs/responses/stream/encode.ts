import type { SseFrame } from "@gateway/base/frame";
import type { JsonObject } from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import type { AnswerContext, StreamEncoder } from "../../canonical/codec.ts";
import { CONTEXT_FULL, type Stop } from "../../canonical/answer/answer.ts";
import type { EndEvent } from "../../canonical/stream/event.ts";
import { type Failure, tooLong } from "../../canonical/failure/failure.ts";
import { MAX_HELD_CHARACTERS } from "../../canonical/max_sizes.ts";
import { sequenced } from "../../canonical/stream/sequence.ts";
import {
  finalFields,
  identityOf,
  type ResponseIdentity,
  responseObject,
} from "../answer/encode.ts";
import { failedError } from "../errors.ts";
import type { EventWriter } from "./item_writer.ts";
import { createOutputWriter } from "./output_writer.ts";

/** Encodes a Responses stream. Items follow one another, and each event has a name and a number from 0. */
export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  return sequenced(createItemEncoder(context));
}

/** Creates an encoder that keeps one block open at a time. */
function createItemEncoder(context: AnswerContext): StreamEncoder {
  let sink: Emit<SseFrame> = () => {};
  let identity: ResponseIdentity | undefined;
  let isOver = false;
  const events = createEventWriter((frame) => sink(frame));
  const output = createOutputWriter(context, events);

  function writeResponse(type: string, changes: JsonObject): void {
    if (identity === undefined) return;
    const response = responseObject(identity, context, changes);
    events.write(`response.${type}`, { response });
  }

  function start(
    answer: { readonly id: string; readonly createdAtMs?: number | undefined },
  ): void {
    if (identity !== undefined) return;
    identity = identityOf(answer, context);
    writeResponse("created", {});
    writeResponse("in_progress", {});
  }

  function end(event: EndEvent): void {
    output.finish(event.stop);
    isOver = true;
    const failure = isCodex(context) ? failureForCodex(event.stop) : undefined;
    if (failure !== undefined) return fail(failure);
    const fields = finalFields(event, context, output.written);
    writeResponse(String(fields.status), { ...fields, output: output.items });
  }

  /**
   * Fails the answer. Begins the answer first, because clients fail on a stream that does not begin with
   * `response.created`.
   */
  function fail(failure: Failure): void {
    isOver = true;
    start({ id: "" });
    writeResponse("failed", {
      status: "failed",
      error: failedError(failure),
      output: output.items,
    });
  }

  return {
    push(event, emit) {
      if (isOver) return;
      sink = emit;
      switch (event.type) {
        case "start":
          return start(event);
        case "end":
          return end(event);
        case "failure":
          return fail(event.failure);
      }
      output.push(event);
      if (output.held > MAX_HELD_CHARACTERS) throw tooLong();
    },
    end() {},
    keepAlive(emit) {
      if (isOver) return;
      sink = emit;
      // The timeout of Codex counts only events, not comments. So a keep-alive is an event.
      start({ id: "" });
      events.write("keepalive", {});
    },
  };
}

/** Returns true for a request of Codex. Only Codex sends `client_metadata`. */
function isCodex({ request }: AnswerContext): boolean {
  return request.extras.responses?.client_metadata !== undefined;
}

/**
 * Returns the failure that Codex gets in place of an incomplete answer. After an incomplete answer with a refusal,
 * Codex would repeat the request, and show neither the reason nor a part of the type `refusal`. When the context is
 * full, Codex shortens the conversation only after a failure.
 */
function failureForCodex({ reason, explanation }: Stop): Failure | undefined {
  if (reason === "context_full") return CONTEXT_FULL;
  if (reason !== "filtered") return undefined;
  return {
    kind: "filtered",
    message: explanation ??
      "The model's provider ended the answer because of its content.",
  };
}

/** Creates a writer that numbers the events. */
function createEventWriter(emit: Emit<SseFrame>): EventWriter {
  let sequence = 0;
  return {
    write(type, fields) {
      const data = { type, sequence_number: sequence++, ...fields };
      emit({ event: type, data: JSON.stringify(data) });
    },
    writeDelta(type, place, text) {
      emit({
        event: type,
        data:
          `{"type":"${type}","sequence_number":${sequence++},${place},"delta":${
            JSON.stringify(text)
          }}`,
      });
    },
  };
}
