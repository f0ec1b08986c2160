import { byId, element } from "./element.js";
import { foundModels, isListed } from "../wording/models.js";
import { PROTOCOL_NAMES } from "../wording/protocols.js";

/**
 * @typedef {import("../wording/models.js").Model} Model
 *
 * @typedef {object} ModelsView
 * @property {(models: readonly Model[]) => void} show
 */

/** The number of models in the list before the reader opens the whole list. */
const FEW = 12;

/**
 * Connects the list of models.
 *
 * @param {{ readonly onChoose: (id: string) => void }} options Called with the model that a client is to be set up for.
 * @returns {ModelsView}
 */
export function createModelsView({ onChoose }) {
  const count = byId("model-count", HTMLElement);
  const search = byId("search", HTMLInputElement);
  const list = byId("models", HTMLElement);
  const more = byId("all-models", HTMLButtonElement);
  /** @type {readonly Model[]} */
  let models = [];
  let showsAll = false;

  function render() {
    const found = foundModels(models, search.value);
    const offered = search.value === "" ? found.filter(isListed) : found;
    const shown = showsAll ? found : offered.slice(0, FEW);
    list.replaceChildren(
      ...shown.map((model) => modelItem(model, () => onChoose(model.id))),
    );
    more.hidden = shown.length === found.length;
    const text = countText(found);
    more.textContent = `Show all ${text}`;
    count.textContent = found.length === models.length
      ? text
      : `${found.length} of ${countText(models)}`;
  }

  search.addEventListener("input", render);
  more.addEventListener("click", () => {
    showsAll = true;
    render();
    search.focus();
  });
  return {
    show(offered) {
      models = offered;
      byId("search-field", HTMLElement).hidden = models.length <= FEW;
      render();
    },
  };
}

/** Returns the numbers of listed and of unlisted models, in words. @param {readonly Model[]} models */
function countText(models) {
  if (models.length === 0) return "No model is assigned to this token.";
  const listed = models.filter(isListed).length;
  const unlisted = models.length - listed;
  return (listed === 1 ? "1 model" : `${listed} models`) +
    (unlisted > 0 ? ` and ${unlisted} unlisted` : "");
}

/** @param {Model} model @param {() => void} onChoose @returns {HTMLElement} */
function modelItem({ id, protocols }, onChoose) {
  const button = element(
    "button",
    { type: "button", class: "model", title: `Set up a client for ${id}` },
    element("code", {}, id),
    element("span", { class: "protocols" }, protocolsText(protocols)),
  );
  button.addEventListener("click", onChoose);
  return element("li", {}, button);
}

/** @param {Model["protocols"]} protocols @returns {string} */
function protocolsText(protocols) {
  return protocols.map((name) => PROTOCOL_NAMES[name]).join(" · ");
}
