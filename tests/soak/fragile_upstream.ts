/**
 * The upstream of the part about poison, in its own process. It refuses flagged prompts, answers
 * long bodies with 413 and closes the connection without reading them, and fails on some requests.
 */
import { createServer, type ServerResponse } from "node:http";
import { MODERATED } from "../support/dialects/refusals.ts";
import { findQuestion, wordsOf } from "./question.ts";
import { jsonAnswer } from "./speech.ts";

/** The longest accepted body, in bytes. */
const MAX_BYTES = 1024 * 1024;

/**
 * The time from the answer to the close, in milliseconds. An immediate close would discard unread
 * bytes.
 */
const CLOSE_MS = 100;

const server = createServer((request, response) => {
  if (Number(request.headers["content-length"]) > MAX_BYTES) {
    const error = { message: "Too long", type: "invalid_request_error" };
    answer(response, 413, { error });
    response.on("finish", () => setTimeout(() => request.destroy(), CLOSE_MS));
    return;
  }
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (piece) => body += piece);
  request.on("end", () => reply(body, response));
});

function reply(body: string, response: ServerResponse): void {
  const question = findQuestion(body);
  switch (question?.behaviour) {
    case "flag":
      return answer(response, MODERATED.status, MODERATED.body);
    case "fail":
      return answer(response, 500, { error: { message: "Internal error" } });
    case "hang-up":
      response.destroy();
      return;
    case "whole":
      response.setHeader("content-type", "application/json");
      response.end(jsonAnswer("chat", wordsOf(question)));
      return;
    default:
      return answer(response, 404, {});
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") {
    throw new Error("The upstream has no port");
  }
  console.error(`listening on :${address.port}`);
});
