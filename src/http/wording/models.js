/**
 * The models of a token, and which of them to show. Pure.
 *
 * @typedef {import("./protocols.js").Protocol} Protocol
 *
 * @typedef {object} Model An entry of `GET /models`, as far as it is used here.
 * @property {string} id
 * @property {readonly Protocol[]} protocols
 * @property {string | undefined} [display_name]
 * @property {number | undefined} [context_length] In tokens.
 * @property {number | undefined} [max_output_tokens]
 */

/**
 * The models that a search finds, in their order.
 *
 * @param {readonly Model[]} models
 * @param {string} search Words that a name must all hold, in any case.
 * @returns {readonly Model[]}
 */
export function foundModels(models, search) {
  const words = search.toLowerCase().split(/\s+/);
  return models.filter(({ id }) =>
    words.every((word) => id.toLowerCase().includes(word))
  );
}
