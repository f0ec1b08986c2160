import { byId } from "./element.js";

/**
 * @typedef {object} SignInView
 * @property {(reason: string) => void} show Shows the form, with the reason if there is one.
 * @property {() => void} hide
 * @property {(isBusy: boolean) => void} setBusy
 */

/**
 * Connects the form for the token.
 *
 * @param {{ readonly onToken: (token: string) => void }} options
 * @returns {SignInView}
 */
export function createSignInView({ onToken }) {
  const section = byId("sign-in", HTMLElement);
  const input = byId("token", HTMLInputElement);
  const error = byId("sign-in-error", HTMLElement);
  const button = byId("enter", HTMLButtonElement);

  /** @param {string} reason */
  function show(reason) {
    section.hidden = false;
    error.textContent = reason;
    input.toggleAttribute("aria-invalid", false);
    if (reason !== "") input.setAttribute("aria-invalid", "true");
    input.focus();
    input.select();
  }

  byId("sign-in-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    const token = input.value.trim();
    if (isToken(token)) onToken(token);
    else show("Enter your token: letters, digits and signs without spaces.");
  });
  return {
    show,
    hide() {
      section.hidden = true;
      input.value = "";
    },
    setBusy(isBusy) {
      if (isBusy) {
        error.textContent = "";
        input.toggleAttribute("aria-invalid", false);
      }
      button.textContent = isBusy ? "Loading…" : "Show what is left";
      section.toggleAttribute("data-busy", isBusy);
    },
  };
}

/** Returns true when a header can hold the text. @param {string} text @returns {boolean} */
function isToken(text) {
  return /^[\x21-\x7e]+$/.test(text);
}
