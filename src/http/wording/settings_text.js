/**
 * What settings of every client are made of. Pure texts.
 *
 * @typedef {import("./models.js").Model} Model
 * @typedef {import("./protocols.js").Protocol} Protocol
 *
 * @typedef {object} Place Where a client finds the gateway, and what it asks for there.
 * @property {string} base The gateway's address without a trailing slash, such as `http://127.0.0.1:8787`.
 * @property {string} model The one to begin with.
 * @property {readonly Model[]} models Those that the client can ask, `model` among them.
 *
 * @typedef {object} Snippet
 * @property {string} title Which file the text belongs into, or where else.
 * @property {string} text Exactly what belongs there.
 *
 * @typedef {object} Client
 * @property {string} id What it is called on the command line.
 * @property {string} name
 * @property {Protocol} protocol What a model must be served by.
 * @property {(place: Place) => Snippet} settings They hold no token; they say where the client finds it.
 * @property {(token: string) => Snippet} token How the client comes by the token.
 * @property {boolean} readsEnvironment Whether it finds the token in {@linkcode TOKEN_VARIABLE}.
 * @property {((place: Place) => Snippet) | undefined} [start] What to do when all is in its place.
 * @property {string | undefined} [note] What else its user has to know: a sentence.
 */

/** What is shown in the place of the token. */
export const TOKEN_PLACEHOLDER = "YOUR_TOKEN";

/** The environment variable that holds the token, for clients and for the gateway's own commands. */
export const TOKEN_VARIABLE = "MODEL_GATEWAY_TOKEN";

/**
 * What the gateway is called in settings that name their providers.
 */
export const PROVIDER_ID = "gateway";

/**
 * The token in the environment of a shell.
 *
 * @param {string} token
 * @returns {Snippet}
 */
export function tokenInShell(token) {
  return {
    title: "The token, in the shell or in its profile",
    text: `export ${TOKEN_VARIABLE}=${shellWord(token)}`,
  };
}

/**
 * What is to be typed into a shell.
 *
 * @param {string} text
 * @returns {Snippet}
 */
export function inShell(text) {
  return { title: "Then in the shell", text };
}

/**
 * @param {unknown} value
 * @returns {string} Indented JSON.
 */
export function json(value) {
  return JSON.stringify(value, null, 2);
}

/**
 * A text in double quotes; JavaScript, Python, TOML and YAML read those of JSON.
 *
 * @param {string} text
 * @returns {string}
 */
export function quote(text) {
  return JSON.stringify(text);
}

/**
 * A text as one word of a POSIX shell.
 *
 * @param {string} text
 * @returns {string}
 */
export function shellWord(text) {
  return /^[\w./:@%+-]+$/.test(text)
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * The name of a model for people, where it has one beside its id.
 *
 * @param {Model} model
 * @returns {string | undefined}
 */
export function titleOf({ id, display_name: name }) {
  return name === id ? undefined : name;
}
