/**
 * What the reasons for a quota that could not be read mean to staff (docs/quotas.md#states).
 *
 * @typedef {object} FailureMeaning
 * @property {string} title
 * @property {string} advice What staff does about it: mostly nothing.
 * @property {boolean} [isCalm] Nothing is wrong.
 */

const PREFIX = "provider_limits_";

const TELL = "If it stays so, tell the administrator.";
const AGAIN = "The gateway asks again by itself.";

/** @type {Readonly<Record<string, FailureMeaning>>} */
const MEANINGS = {
  configuration_required: {
    title: "Setting missing",
    advice: "The administrator must complete this connection.",
  },
  unauthorized: {
    title: "Key refused",
    advice: "The administrator must renew it.",
  },
  rate_limited: { title: "Asked too often", advice: AGAIN },
  unreachable: {
    title: "Not reachable",
    advice: `${AGAIN} ${TELL}`,
  },
  invalid_response: {
    title: "Answer not understood",
    advice: TELL,
  },
  not_told_yet: {
    title: "Not told yet",
    advice:
      "The provider tells what is left with each answer of a model; the first one will show it here.",
    isCalm: true,
  },
  no_plan: {
    title: "No plan",
    advice: "The administrator must look after the plan or the credit.",
  },
};

/** @type {FailureMeaning} */
const OTHER = {
  title: "Quota not told",
  advice: `${AGAIN} ${TELL}`,
};

/**
 * The meaning of an `error.type`; one that is not known means that there is just no quota.
 *
 * @param {string} type Such as `provider_limits_unauthorized`.
 * @returns {FailureMeaning}
 */
export function failureMeaning(type) {
  const reason = type.startsWith(PREFIX) ? type.slice(PREFIX.length) : type;
  return (Object.hasOwn(MEANINGS, reason) && MEANINGS[reason]) || OTHER;
}
