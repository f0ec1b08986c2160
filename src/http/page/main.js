import { byId, createTicker, setText } from "./element.js";
import { askGateway, TokenRefused } from "./gateway.js";
import { createModelsView } from "./models_view.js";
import { hideFailure, showQuotas } from "./quotas_view.js";
import {
  forgetSession,
  loadSession,
  nextAskAtMs,
  nextListAtMs,
  saveSession,
  withAnswer,
} from "./session.js";
import { createSettingsView } from "./settings_view.js";
import { createSignInView } from "./sign_in_view.js";
import { durationText } from "../wording/times.js";

const TICK_MS = 1000;

/** Without a trailing slash. The page may stand under a path of a proxy. */
const base = new URL(".", location.href).href.replace(/\/$/, "");

const signedIn = byId("signed-in", HTMLElement);
const controls = byId("controls", HTMLElement);
const refreshButton = byId("refresh", HTMLButtonElement);
const status = byId("status", HTMLElement);

let session = loadSession(sessionStorage);
let isAsking = false;
let shownModels = "";

const ticker = createTicker();
const signIn = createSignInView({ onToken: enter });
const settings = createSettingsView({
  base,
  token: () => session?.token ?? "",
  announce,
});
const models = createModelsView({ onChoose: settings.choose });

byId("forget", HTMLButtonElement).addEventListener("click", () => leave(""));
refreshButton.addEventListener("click", () => {
  if (!mayAsk()) return;
  hideFailure();
  refresh().then(() => announce("Refreshed."));
});
document.addEventListener("visibilitychange", tick);
setInterval(tick, TICK_MS);
if (session === undefined) leave("");
else showReading();
tick();

/** @param {string} token */
function enter(token) {
  session = { token };
  refresh();
}

/** @param {string} reason Said to the reader, who has to sign in again. */
function leave(reason) {
  session = undefined;
  forgetSession(sessionStorage);
  signedIn.hidden = true;
  controls.hidden = true;
  signIn.show(reason);
}

/** A hidden tab asks nothing; it catches up as soon as it is looked at. */
function tick() {
  ticker.tick(Date.now());
  if (isDue() && document.visibilityState === "visible") refresh();
  showRefreshButton();
}

function isDue() {
  return session !== undefined && !isAsking &&
    Date.now() >= nextAskAtMs(session);
}

/** Whether the reader may have it asked now: as soon as it is due, and at any time while something is missing. */
function mayAsk() {
  return isDue() || !isAsking && session?.reading?.failure !== undefined;
}

async function refresh() {
  const asked = session;
  if (asked === undefined || isAsking) return;
  setAsking(true);
  try {
    const isListDue = Date.now() >= nextListAtMs(asked);
    const answers = await askGateway(base, asked.token, { isListDue });
    // Somebody may have left, or entered another token, in the meantime.
    if (session === asked) take(answers);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    if (session === asked) leave(error.message);
  } finally {
    setAsking(false);
  }
}

/** @param {import("./gateway.js").Answers} answers */
function take(answers) {
  if (session === undefined) return;
  session = withAnswer(session, { ...answers, askedAtMs: Date.now() });
  const { list, models: known, failure } = session.reading ?? {};
  if (list === undefined && known === undefined) return leave(failure ?? "");
  saveSession(sessionStorage, session);
  const isFirst = signedIn.hidden;
  showReading();
  if (isFirst) byId("title", HTMLElement).focus();
}

function showReading() {
  const reading = session?.reading;
  if (reading === undefined) return;
  signIn.hide();
  signedIn.hidden = false;
  controls.hidden = false;
  showQuotas(reading, ticker);
  byId("models-and-settings", HTMLElement).hidden =
    reading.models === undefined;
  showModels(reading.models ?? []);
}

/** What has not changed stays as it is, with what the reader has chosen in it. */
function showModels(
  /** @type {readonly import("../wording/models.js").Model[]} */ all,
) {
  const text = JSON.stringify(all);
  if (text === shownModels) return;
  shownModels = text;
  models.show(all);
  settings.show(all);
}

/** @param {boolean} now */
function setAsking(now) {
  isAsking = now;
  signIn.setBusy(now);
  showRefreshButton();
}

function showRefreshButton() {
  const waitMs = nextAskAtMs(session) - Date.now();
  const text = isAsking
    ? "Refreshing…"
    : waitMs > 0 && !mayAsk()
    ? `Refresh in ${durationText(waitMs + TICK_MS - 1)}`
    : "Refresh";
  setText(refreshButton, text);
  refreshButton.setAttribute("aria-disabled", String(!mayAsk()));
}

/** @param {string} text For those who do not see what happened. */
function announce(text) {
  status.textContent = text;
}
