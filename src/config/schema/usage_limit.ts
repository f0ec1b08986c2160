import { z } from "zod";
import { decimal, name, text, wholeNumber } from "./fields.ts";

/** What may be used in a window, in whatever it counts: sums stay exact up to this. */
const MAX_COUNT = 1_000_000_000_000;

/** In US dollars. */
const MAX_COST = 1_000_000;

/** One of `limits` of a token, a group or all tokens; what belongs together is judged when it is resolved. */
export const usageLimitSchema = z.strictObject({
  window: text().describe(
    "Of the calendar: minute, hour, day, week or month, in UTC; beside share a window of the connection's quota, such as five_hour.",
  ),
  requests: wholeNumber({ min: 1, max: MAX_COUNT }).optional()
    .describe("How many requests in the window."),
  tokens: wholeNumber({ min: 1, max: MAX_COUNT }).optional()
    .describe("How many tokens in the window, input and output."),
  cost: decimal({ min: 0, max: MAX_COST }).optional().describe(
    "How many US dollars in the window; each model that it binds needs a price.",
  ),
  models: z.array(text()).min(1).optional()
    .describe("The models that it counts. Default: all."),
  connections: z.array(text()).min(1).optional().describe(
    "Names or ids of the connections that it counts. Default: all.",
  ),
  connection: text().optional()
    .describe("Beside share: name or id of the connection."),
  share: decimal({ min: 0, max: 1 }).optional().describe(
    "Which part of a window of the connection's quota, from 0 to 1.",
  ),
});

/** A limit as the file says it. */
export type UsageLimitFields = z.output<typeof usageLimitSchema>;

/** `limits` where they may stand. */
export const usageLimitsSchema = z.array(usageLimitSchema);

/** `defaults`: what tokens have that say nothing else. */
export const defaultsSchema = z.strictObject({
  limits: usageLimitsSchema.default([]).describe(
    "What each token may use that has no limits of its own.",
  ),
});

/** `groups`, by name. */
export const groupsSchema = z.record(
  name(),
  z.strictObject({
    limits: usageLimitsSchema.default([])
      .describe("What its members may use together."),
  }),
);

/** Groups as the file says them. */
export type GroupsFields = z.output<typeof groupsSchema>;
