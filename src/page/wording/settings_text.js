/**
 * The parts of every client's settings. Pure functions.
 *
 * @typedef {import("./models.js").Model} Model
 * @typedef {import("./protocols.js").Protocol} Protocol
 *
 * @typedef {object} Place The gateway and the models for a client.
 * @property {string} base The gateway's address without a trailing slash, such as `http://127.0.0.1:8787`.
 * @property {string} model The initial model.
 * @property {readonly Model[]} models The models that the client supports, including `model`.
 * @property {string | undefined} [tokenCommand] A shell command that prints the token. Default: the token is stored.
 *
 * @typedef {object} Snippet
 * @property {string} title The file or other place of the text.
 * @property {string} text The exact text.
 *
 * @typedef {object} Client
 * @property {string} id The name on the command line.
 * @property {string} name
 * @property {readonly [Protocol, ...Protocol[]]} protocols The protocols that the client speaks. A model must be served
 * in one of these protocols.
 * @property {(place: Place) => Snippet} settings The settings, with a reference to the token instead of the token.
 * @property {(token: string) => Snippet} token The place of the token.
 * @property {boolean} readsEnvironment True when the client reads the token from {@linkcode TOKEN_VARIABLE}.
 * @property {boolean | undefined} [prefersFile] True when the token is better kept in a file than in an
 * environment variable.
 * @property {boolean | undefined} [runsTokenCommand] True when the settings run `tokenCommand`, and run it again when
 * the token has expired.
 * @property {((place: Place) => Snippet) | undefined} [start] The command that starts the client.
 * @property {boolean | undefined} [isCommand] True when the settings are a command that needs the token before it
 * runs.
 * @property {string | undefined} [note] A further instruction for the user: a sentence.
 */

/** The placeholder of the token. */
export const TOKEN_PLACEHOLDER = "YOUR_TOKEN";

/** The environment variable with the token, for clients and for the gateway's own commands. */
export const TOKEN_VARIABLE = "MODEL_GATEWAY_TOKEN";

/** The gateway's id in settings that name their providers. */
export const PROVIDER_ID = "gateway";

/**
 * Returns the command that sets the token in a shell.
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
 * Returns the command that sets the token in a shell to the output of another command.
 *
 * @param {string} command
 * @returns {Snippet}
 */
export function tokenByCommand(command) {
  return {
    title: "The token, in the shell: again after it has expired",
    text: `export ${TOKEN_VARIABLE}="$(${command})"`,
  };
}

/**
 * Returns commands for a shell.
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
 * Quotes a text as JSON does. JavaScript, Python, TOML and YAML read that form, too.
 *
 * @param {string} text
 * @returns {string}
 */
export function quote(text) {
  return JSON.stringify(text);
}

/**
 * Quotes a text as one word of a POSIX shell.
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
 * Returns the protocol in which a client requests a model: the best protocol without translation, else the client's
 * first protocol in which the model is served.
 *
 * @param {Model} model
 * @param {Pick<Client, "protocols">} client
 * @returns {Protocol | undefined} `undefined` when the client cannot request the model.
 */
export function protocolFor({ protocols, native_protocols = [] }, client) {
  return native_protocols.find((one) => client.protocols.includes(one)) ??
    client.protocols.find((one) => protocols.includes(one));
}

/** The protocols of a client that speaks all protocols. @type {readonly [Protocol, ...Protocol[]]} */
export const ALL_PROTOCOLS = ["chat", "messages", "responses"];

/** The inputs besides text, as clients name them. @type {readonly string[]} */
export const INPUTS = ["image", "pdf", "audio"];

/**
 * Returns the inputs of {@linkcode INPUTS} that a model takes. In `GET /models`, `file` stands for a PDF.
 *
 * @param {Model} model
 * @returns {readonly string[] | undefined} `undefined` when the inputs are not known.
 */
export function inputsOf({ architecture }) {
  const kinds = architecture?.input_modalities;
  return kinds &&
    INPUTS.filter((one) => kinds.includes(one === "pdf" ? "file" : one));
}

/**
 * Returns true when a model is known to take images.
 *
 * @param {Model} model
 * @returns {boolean}
 */
export function takesImages(model) {
  return inputsOf(model)?.includes("image") === true;
}

/**
 * Returns the name of a model for people, if it differs from its id.
 *
 * @param {Model} model
 * @returns {string | undefined}
 */
export function titleOf({ id, display_name: name }) {
  return name === id ? undefined : name;
}
