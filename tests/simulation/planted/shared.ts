import type { FaultsByFile } from "./fault.ts";

/** Faults of what threads and replicas share. */
export const SHARED_FAULTS: FaultsByFile = {
  "gateway/shared/outbox.ts": [
    {
      name: "a failed batch is lost",
      text: "      this.#failed.push(sent);\n",
      wrong: "",
    },
    {
      name: "a failed batch is not sent again by itself",
      text: "      this.#failed.push(sent);\n      this.sendLater();\n",
      wrong: "      this.#failed.push(sent);\n",
      unseen: "the next change and the store's return send it, too",
    },
    {
      name: "a failed batch gets another id",
      text:
        "    for (const sent of this.#failed.splice(0)) this.#post(sent);\n",
      wrong:
        '    for (const sent of this.#failed.splice(0)) this.#post({ ...sent, batch: { ...sent.batch, id: this.#options.ids.next("batch") } });\n',
    },
    {
      name: "an addition is sent twice",
      text: "        counter.unsent = 0;\n",
      wrong: "",
    },
    {
      name: "a confirmed batch is not noted",
      text: "        counter.confirmed += amount;\n",
      wrong: "",
    },
    {
      name: "a batch stays unconfirmed",
      text: "      this.#unconfirmed.delete(sent);\n",
      wrong: "",
    },
    {
      name: "releases are sent as holds",
      text: "const [holds, releases] = [holdsThat(false), holdsThat(true)];",
      wrong: "const [holds, releases] = [holdsThat(true), holdsThat(false)];",
    },
    {
      name: "an addition to an ended window stops the others",
      text: "      if (counter === undefined) return;\n",
      wrong: "      if (counter === undefined) throw new Error();\n",
      unseen: "additions are made in the window of their moment",
    },
    {
      name: "changes are gathered for ever",
      text: "      this.#cancelGathering = undefined;\n      this.send();\n",
      wrong: "      this.send();\n",
    },
  ],
  "gateway/shared/remote_sums.ts": [
    {
      name: "a hold is never renewed",
      text: "      if (!this.#ledger.isAway) this.resume();\n",
      wrong: "",
    },
    {
      name: "holds are not sent when the store is back",
      text: "      this.#outbox.change(hold, false);\n",
      wrong: "",
    },
    {
      name: "a local decision holds nothing",
      text: "          if (decision.isGranted) hold();\n",
      wrong: "",
    },
    {
      name: "a granted claim is not renewed",
      text: "          if (isGranted && !isLate) hold();\n",
      wrong: "",
    },
    {
      name: "a late reply is not corrected",
      text: "            this.#correct(id, claims, answer);\n",
      wrong: "            this.#outbox.sendLater();\n",
    },
    {
      name: "a late store is waited for",
      text: "() => resolve(answer = local())",
      wrong: "() => {}",
    },
    {
      name: "a failing store fails the request",
      text: "      answer ??= local();\n      resolve(answer);\n",
      wrong: "",
    },
    {
      name: "the timer of a reply stays",
      text: "    send().then((reply) => {\n      cancel();\n",
      wrong: "    send().then((reply) => {\n",
    },
    {
      name: "releases are not sent",
      text: "    for (const one of releases) this.#outbox.change(one, true);\n",
      wrong: "",
    },
    {
      name: "releases stay in this process",
      text: "    this.#known.holds.remove(releases);\n",
      wrong: "",
    },
    {
      name: "what this process added counts twice",
      text: "  return base + added - baseConfirmed;\n",
      wrong: "  return base + added;\n",
    },
    {
      name: "an empty store is not learnt",
      text: "      sums.forEach((sum, place) =>\n",
      wrong: "      [].forEach((sum, place) =>\n",
    },
    {
      name: "a claim does not send what was counted before it",
      text: "    this.#outbox.send(claims);\n",
      wrong: "",
    },
  ],
  "gateway/shared/store/store_link.ts": [
    {
      name: "a store that is away is never probed",
      text:
        "    this.#cancelProbe = deadlines.start(PROBE_MS, () => this.#probe());\n",
      wrong: "",
    },
    {
      name: "a store that breaks is not away",
      text: "onBroken: (error) => this.#markAway(error.fault),",
      wrong: "onBroken: () => {},",
    },
    {
      name: "a slow store is not away",
      text: '    if (areTooMany) this.#markAway("slow");\n',
      wrong: "",
    },
    {
      name: "a store that refuses a command stays",
      text: "        this.#markAway(error.fault);\n",
      wrong: "",
    },
    {
      name: "a probe runs for ever",
      text: "      this.#isProbing = false;\n",
      wrong: "",
    },
  ],
  "gateway/shared/store/apply_batch.lua": [
    {
      name: "a batch counts again when it is sent again",
      text: "if redis.call('EXISTS', batch_key) == 1 then return 'known' end\n",
      wrong: "",
    },
    {
      name: "the id of a batch is forgotten",
      text: "return accepts('SET', batch_key, '1', 'PX', batch.batch_ms)",
      wrong: "return true",
    },
    {
      name: "each request of a session begins its life in the store again",
      text:
        "  if left_ms >= 0 and now_ms + left_ms <= addition.ends_at_ms then return true end\n",
      wrong: "",
    },
    {
      name: "a store keeps a released hold",
      text:
        "    if not accepts('ZREM', KEYS[release.key], release.member) then return false end\n",
      wrong: "",
    },
  ],
  "gateway/shared/notice.ts": [
    {
      name: "threads do not list each other's sessions",
      text: '  if (notice.kind === "session") return usage?.follow(notice);\n',
      wrong: '  if (notice.kind === "session") return;\n',
    },
  ],
  "gateway/shared/store/reserve.lua": [
    {
      name: "a store's hold counts against its own request",
      text: "if amount and owner ~= request.id then",
      wrong: "if amount then",
      unseen: "each call of a request has an id of its own",
    },
    {
      name: "a store's limit takes one too many",
      text: "used + claim.amount > claim.most",
      wrong: "used + claim.amount > claim.most + 1",
    },
    {
      name: "a store's hold is not written",
      text:
        "    redis.call('ZADD', key, now_ms + request.hold_ms, claim.member)\n",
      wrong: "",
    },
    {
      name: "a store's holds never end",
      text: "  redis.call('ZREMRANGEBYSCORE', key, '-inf', now_ms)\n",
      wrong: "",
    },
  ],
};
