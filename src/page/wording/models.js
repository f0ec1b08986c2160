/**
 * The models of a token, and a search in them. Pure functions.
 *
 * @typedef {import("./protocols.js").Protocol} Protocol
 *
 * @typedef {object} Model The fields of an entry of `GET /models` that are used here.
 * @property {string} id
 * @property {boolean | undefined} [listed] False for a model that lists leave out.
 * @property {readonly Protocol[]} protocols
 * @property {readonly Protocol[] | undefined} [native_protocols] The protocols without translation, the best first.
 * @property {string | undefined} [owned_by] The service of the first connection.
 * @property {string | undefined} [display_name]
 * @property {number | undefined} [context_length] In tokens.
 * @property {number | undefined} [max_output_tokens]
 * @property {{ readonly input_modalities?: readonly string[] | undefined } | undefined} [architecture]
 */

/** @param {Model} model @returns {boolean} */
export function isListed({ listed }) {
  return listed !== false;
}

/**
 * Returns the models that a search finds, in their order.
 *
 * @param {readonly Model[]} models
 * @param {string} search Words that must all be in the name, in any case.
 * @returns {readonly Model[]}
 */
export function foundModels(models, search) {
  const words = search.toLowerCase().split(/\s+/);
  return models.filter(({ id }) =>
    words.every((word) => id.toLowerCase().includes(word))
  );
}
