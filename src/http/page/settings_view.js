import { copyText } from "./clipboard.js";
import { byId, element } from "./element.js";
import { PROTOCOL_NAMES } from "./protocols.js";
import { CLIENTS, TOKEN_PLACEHOLDER } from "./settings.js";

/**
 * @typedef {import("./models.js").Model} Model
 * @typedef {import("./settings.js").Client} Client
 * @typedef {import("./settings.js").Snippet} Snippet
 *
 * @typedef {object} SettingsView
 * @property {(models: readonly Model[]) => void} show Offers these models.
 * @property {(id: string) => void} choose Sets the clients up for a model, if need be another client.
 *
 * @typedef {object} SettingsOptions
 * @property {string} base The gateway's address without a trailing slash.
 * @property {() => string} token The caller's; goes into what is copied, never onto the page.
 * @property {(text: string) => void} announce Tells what happened to those who do not see it.
 */

/**
 * Brings the part of the page to life that says how to set up a client.
 *
 * @param {SettingsOptions} options
 * @returns {SettingsView}
 */
export function createSettingsView(options) {
  const chooser = byId("clients", HTMLElement);
  const select = byId("model", HTMLSelectElement);
  const hint = byId("model-hint", HTMLElement);
  const place = byId("snippets", HTMLElement);
  /** @type {readonly Model[]} */
  let models = [];
  let client = /** @type {Client} */ (CLIENTS[0]);

  for (const one of CLIENTS) chooser.append(clientChoice(one, () => pick(one)));
  select.addEventListener("change", showSnippets);

  /** @param {Client} one */
  function pick(one) {
    client = one;
    offerModels(select.value);
  }

  /** @param {string} wanted The model to keep, if it can be. */
  function offerModels(wanted) {
    const fitting = models.filter((model) => serves(model, client));
    select.replaceChildren(
      ...fitting.map(({ id }) =>
        element("option", { value: id, selected: id === wanted }, id)
      ),
    );
    hint.textContent = hintText(client, models.length - fitting.length);
    showSnippets();
  }

  function showSnippets() {
    const model = select.value;
    select.disabled = model === "";
    place.replaceChildren(
      ...(model === "" ? [nothingFits(client)] : snippetViews(model)),
    );
  }

  /** @param {string} model */
  function snippetViews(model) {
    const shown = { base: options.base, model, token: TOKEN_PLACEHOLDER };
    return client.snippets(shown).map((snippet, index) =>
      snippetView(snippet, {
        ...options,
        withToken: () =>
          client.snippets({ ...shown, token: options.token() })[index]?.text ??
            "",
      })
    );
  }

  return {
    show(offered) {
      models = offered;
      offerModels(select.value);
    },
    choose(id) {
      const model = models.find((one) => one.id === id);
      if (model !== undefined && !serves(model, client)) {
        client = CLIENTS.find((one) => serves(model, one)) ?? client;
        byId(`client-${client.id}`, HTMLInputElement).checked = true;
      }
      offerModels(id);
      select.focus();
    },
  };
}

/** @param {Model} model @param {Client} client @returns {boolean} */
function serves(model, client) {
  return model.protocols.includes(client.protocol);
}

/** @param {Client} client @param {() => void} onPick @returns {HTMLElement} */
function clientChoice({ id, name }, onPick) {
  const input = element("input", {
    type: "radio",
    name: "client",
    id: `client-${id}`,
    checked: id === CLIENTS[0]?.id,
  });
  input.addEventListener("change", onPick);
  return element(
    "label",
    { class: "choice" },
    input,
    element("span", {}, name),
  );
}

/** @param {Client} client @param {number} hidden @returns {string} */
function hintText({ name, protocol }, hidden) {
  if (hidden === 0) return "";
  const others = hidden === 1 ? "1 model is" : `${hidden} models are`;
  return `${name} speaks ${
    PROTOCOL_NAMES[protocol]
  }; ${others} not served that way and left out here.`;
}

/** @param {Client} client @returns {HTMLElement} */
function nothingFits({ name, protocol }) {
  return element(
    "p",
    { class: "state" },
    `${name} speaks ${
      PROTOCOL_NAMES[protocol]
    }, and none of your models is served that way.`,
  );
}

/**
 * @param {Snippet} snippet
 * @param {{ readonly withToken: () => string, readonly announce: (text: string) => void }} options
 * @returns {HTMLElement}
 */
function snippetView({ title, text }, { withToken, announce }) {
  const code = element(
    "pre",
    { tabindex: "0", role: "group", "aria-label": title },
    element("code", {}, ...marked(text)),
  );
  const buttons = [copyButton("Copy", { textOf: () => text, announce })];
  if (text.includes(TOKEN_PLACEHOLDER)) {
    buttons.push(
      copyButton("Copy with my token", { textOf: withToken, announce }),
    );
  }
  return element(
    "div",
    { class: "snippet" },
    element(
      "div",
      { class: "snippet-head" },
      element("h3", {}, title),
      element("div", { class: "buttons" }, ...buttons),
    ),
    code,
  );
}

/** What the reader has to replace stands out. @param {string} text @returns {(Node | string)[]} */
function marked(text) {
  return text.split(TOKEN_PLACEHOLDER).flatMap((part, index) =>
    index === 0 ? [part] : [element("mark", {}, TOKEN_PLACEHOLDER), part]
  );
}

const COPIED_MS = 2000;

/**
 * @param {string} label
 * @param {{ readonly textOf: () => string, readonly announce: (text: string) => void }} options
 * @returns {HTMLButtonElement}
 */
function copyButton(label, { textOf, announce }) {
  const button = element("button", { type: "button", class: "copy" }, label);
  button.addEventListener("click", async () => {
    const isCopied = await copyText(textOf());
    button.textContent = isCopied ? "Copied" : "Could not copy";
    announce(`${label}: ${button.textContent}.`);
    setTimeout(() => button.textContent = label, COPIED_MS);
  });
  return button;
}
