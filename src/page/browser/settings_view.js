import { copyText } from "./clipboard.js";
import { byId, element } from "./element.js";
import { createTryView } from "./try_view.js";
import { PROTOCOL_NAMES } from "../wording/protocols.js";
import { isListed } from "../wording/models.js";
import { CLIENTS, modelsFor } from "../wording/settings.js";
import { protocolFor, TOKEN_PLACEHOLDER } from "../wording/settings_text.js";

/**
 * @typedef {import("../wording/models.js").Model} Model
 * @typedef {import("../wording/settings_text.js").Client} Client
 * @typedef {import("../wording/settings_text.js").Snippet} Snippet
 *
 * @typedef {object} SettingsView
 * @property {(models: readonly Model[]) => void} show Offers these models.
 * @property {(id: string) => void} choose Shows the settings for a model. Picks another client if the chosen client
 * does not support the model.
 *
 * @typedef {object} SettingsOptions
 * @property {string} base The gateway's address without a trailing slash.
 * @property {() => string} token The caller's token. It is only copied, never shown on the page.
 * @property {(text: string) => void} announce Announces an event to screen readers.
 * @property {() => void} onTried Called after the trial of a model.
 */

/**
 * Connects the section about the settings of clients.
 *
 * @param {SettingsOptions} options
 * @returns {SettingsView}
 */
export function createSettingsView(options) {
  const chooser = byId("clients", HTMLElement);
  const select = byId("model", HTMLSelectElement);
  const hint = byId("model-hint", HTMLElement);
  const place = byId("snippets", HTMLElement);
  const tryView = createTryView(options);
  /** @type {readonly Model[]} */
  let all = [];
  /** @type {readonly Model[]} The listed models, and an unlisted one that the reader has chosen. */
  let models = [];
  let client = /** @type {Client} */ (CLIENTS[0]);

  for (const one of CLIENTS) chooser.append(clientChoice(one, () => pick(one)));
  select.addEventListener("change", showSnippets);

  /** @param {Client} one */
  function pick(one) {
    client = one;
    offerModels(select.value);
  }

  /** @param {string} wanted The model to keep, if the client supports it. */
  function offerModels(wanted) {
    models = all.filter((one) => isListed(one) || one.id === wanted);
    const fitting = modelsFor(models, client);
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
    const chosen = models.find(({ id }) => id === model);
    const protocol = chosen && protocolFor(chosen, client);
    tryView.show(protocol && { model, protocol });
    place.replaceChildren(
      ...(model === "" ? [noModelFits(client)] : snippetViews(model)),
    );
  }

  /** @param {string} model */
  function snippetViews(model) {
    const { base, token, announce } = options;
    const place = { base, model, models: modelsFor(models, client) };
    const { settings, token: tokenPlace, start, note } = client;
    const snippets = [
      snippetView(settings(place), { announce }),
      snippetView(tokenPlace(TOKEN_PLACEHOLDER), {
        announce,
        withToken: () => tokenPlace(token()).text,
      }),
    ];
    return [
      ...(note === undefined ? [] : [element("p", { class: "note" }, note)]),
      ...(client.isCommand ? snippets.toReversed() : snippets),
      ...(start === undefined ? [] : [snippetView(start(place), { announce })]),
    ];
  }

  /** Picks another client when the chosen client supports none of the models. @param {readonly Model[]} wanted */
  function pickFor(wanted) {
    if (modelsFor(wanted, client).length > 0) return;
    client = CLIENTS.find((one) => modelsFor(wanted, one).length > 0) ?? client;
    byId(`client-${client.id}`, HTMLInputElement).checked = true;
  }

  return {
    show(offered) {
      all = offered;
      pickFor(all.filter(isListed));
      offerModels(select.value);
    },
    choose(id) {
      pickFor(all.filter((one) => one.id === id));
      offerModels(id);
      select.focus();
    },
  };
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

/** @param {Client} client @returns {string} */
function usesText({ name, protocols }) {
  return `${name} uses ${
    protocols.map((one) => PROTOCOL_NAMES[one]).join(" or ")
  }`;
}

/** @param {Client} client @param {number} hidden @returns {string} */
function hintText(client, hidden) {
  if (hidden === 0) return "";
  const others = hidden === 1 ? "1 model is" : `${hidden} models are`;
  return `${
    usesText(client)
  }. ${others} not served with that and left out here.`;
}

/** @param {Client} client @returns {HTMLElement} */
function noModelFits(client) {
  return element(
    "p",
    { class: "state" },
    `${usesText(client)}, but none of your models is served with that.`,
  );
}

/**
 * @param {Snippet} snippet
 * @param {object} options
 * @param {(text: string) => void} options.announce
 * @param {(() => string) | undefined} [options.withToken] Returns the text with the reader's token, if the text
 * contains a token.
 * @returns {HTMLElement}
 */
function snippetView({ title, text }, { announce, withToken }) {
  const code = element(
    "pre",
    { tabindex: "0", role: "group", "aria-label": title },
    element("code", {}, ...marked(text)),
  );
  const titleId = `snippet-${title.replaceAll(/\W+/g, "-")}`;
  const buttons = [
    copyButton("Copy", { textOf: () => text, titleId, announce }),
  ];
  if (withToken !== undefined) {
    buttons.push(
      copyButton("Copy with my token", {
        textOf: withToken,
        titleId,
        announce,
      }),
    );
  }
  return element(
    "div",
    { class: "snippet" },
    element(
      "div",
      { class: "snippet-head" },
      element("h3", { id: titleId }, title),
      element("div", { class: "buttons" }, ...buttons),
    ),
    code,
  );
}

/** Returns the text with the placeholder emphasised. @param {string} text @returns {(Node | string)[]} */
function marked(text) {
  return text.split(TOKEN_PLACEHOLDER).flatMap((part, index) =>
    index === 0 ? [part] : [element("mark", {}, TOKEN_PLACEHOLDER), part]
  );
}

const COPIED_MS = 2000;

/**
 * Creates a copy button. The button keeps the width of its longest label, so that it does not move under the pointer.
 *
 * @param {string} label
 * @param {object} options
 * @param {() => string} options.textOf
 * @param {string} options.titleId The id of the text's title. The title distinguishes the button for screen readers.
 * @param {(text: string) => void} options.announce
 * @returns {HTMLButtonElement}
 */
function copyButton(label, { textOf, titleId, announce }) {
  const words = element("span", {}, label);
  const button = element(
    "button",
    { type: "button", class: "copy", "aria-describedby": titleId },
    words,
    element("span", { class: "room", "aria-hidden": "true" }, label),
  );
  let timer = 0;
  button.addEventListener("click", async () => {
    const isCopied = await copyText(textOf());
    words.textContent = isCopied ? "Copied" : "Could not copy";
    announce(`${label}: ${words.textContent}.`);
    clearTimeout(timer);
    timer = setTimeout(() => words.textContent = label, COPIED_MS);
  });
  return button;
}
