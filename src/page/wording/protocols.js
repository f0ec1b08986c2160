/**
 * The names of the protocols, for people.
 *
 * @typedef {import("@gateway/base/protocol_tables").Protocol} Protocol
 */

/** @type {Readonly<Record<Protocol, string>>} */
export const PROTOCOL_NAMES = {
  chat: "Chat",
  messages: "Messages",
  responses: "Responses",
};
