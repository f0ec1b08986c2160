import { PATHS } from "../support/wire/ask.ts";
import { type Asking, bodyOf } from "./ask.ts";
import { wordsOf } from "./question.ts";
import type { Scene } from "./scene.ts";
import {
  jsonAnswer,
  streamPieces,
  textOfJson,
  textOfStream,
} from "./speech.ts";

/**
 * Sends a request and reads the answer.
 *
 * @returns The fault of the answer, if it has one.
 */
export async function askAndCheck(
  asking: Asking,
  { gateway, headers }: Scene,
): Promise<string | undefined> {
  const answer = await fetch(gateway.url + PATHS[asking.way.protocol], {
    method: "POST",
    headers,
    body: bodyOf(asking),
  });
  const { status } = answer;
  const body = await answer.text().catch(() => undefined);
  const fault = faultOf(asking, status, body);
  const { way, question } = asking;
  return fault &&
    `${question.behaviour} from ${way.model} over ${way.protocol}` +
      `, stream ${asking.isStream}: ${fault}: ${status} ${body?.slice(0, 500)}`;
}

/** @param body Absent if it broke off. */
function faultOf(
  asking: Asking,
  status: number,
  body: string | undefined,
): string | undefined {
  switch (asking.question.behaviour) {
    case "refuse":
      return status === 400 && body?.includes(`no ${asking.question.tag}`)
        ? undefined
        : "a refusal did not reach the caller";
    case "cut":
      return looksWhole(asking, status, body)
        ? "an answer that broke off looks complete"
        : undefined;
    default:
      return isExpected(asking, status, body)
        ? undefined
        : "the answer is wrong";
  }
}

function looksWhole(
  { way: { protocol }, isStream }: Asking,
  status: number,
  body: string | undefined,
): boolean {
  if (status !== 200 || body === undefined) return false;
  return isStream
    ? textOfStream(protocol, body).isWhole
    : textOfJson(protocol, body) !== undefined;
}

function isExpected(
  { way, question, isStream }: Asking,
  status: number,
  body: string | undefined,
): boolean {
  if (status !== 200 || body === undefined) return false;
  const words = wordsOf(question);
  if (way.protocol === way.upstream) {
    const { protocol } = way;
    return body ===
      (isStream
        ? streamPieces(protocol, words).join("")
        : jsonAnswer(protocol, words));
  }
  const text = words.join("");
  if (!isStream) return textOfJson(way.protocol, body) === text;
  const read = textOfStream(way.protocol, body);
  return read.isWhole && read.text === text;
}
