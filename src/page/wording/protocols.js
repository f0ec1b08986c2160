/**
 * The names of the protocols, for people.
 *
 * @typedef {import("../../base/protocol_tables.ts").Protocol} Protocol
 */

/** @type {Readonly<Record<Protocol, string>>} */
export const PROTOCOL_NAMES = {
  chat: "Chat",
  messages: "Messages",
  responses: "Responses",
};
