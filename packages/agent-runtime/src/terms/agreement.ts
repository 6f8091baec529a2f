import {
  clientTiers,
  ConfigError,
  isOneOf,
  isRecord,
  lanes,
  limitRule,
  nameRule,
  namesRule,
  outOfCreditsChoices,
  oversightModes,
  problemsIn,
  type Rules,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { Agreement, AgreementTerms } from '../api/agreements.ts'

/**
 * Defines an agreement with a client: submissions that name it take its client, tier, lane, limits of time, oversight and what happens without
 * credits from it. Throws {@link ConfigError} naming every field that is wrong. Source: agent-scheduler-paper 3.6; `docs/semantics.md 12.5`.
 *
 *     const gold = defineAgreement({ name: 'gold', client: 'acme', tier: 'contracted', lane: 'interactive' })
 *     await runtime.submit(task, input, { agreement: gold })
 */
export function defineAgreement(terms: AgreementTerms): Agreement {
  if (!isRecord(terms))
    throw new ConfigError([
      { path: 'agreement', allowed: 'an object with name, client and terms', given: terms },
    ])
  const problems = problemsIn(terms, rules)
  if (problems.length > 0)
    throw new ConfigError(problems.map((it) => ({ ...it, path: `agreement: ${it.path}` })))
  const agreement: Agreement = Object.freeze({
    ...withoutUndefined(terms),
    ...(terms.agents === undefined ? {} : { agents: Object.freeze([...terms.agents]) }),
    kind: 'agreement' as const,
  })
  made.add(agreement)
  return agreement
}

/** Whether a value was made by {@link defineAgreement}. */
export function isAgreement(value: unknown): value is Agreement {
  return typeof value === 'object' && value !== null && made.has(value)
}

const made = new WeakSet<object>()

const rules: Rules<AgreementTerms> = {
  name: nameRule,
  client: nameRule,
  agents: namesRule,
  tier: isOneOf(clientTiers),
  lane: isOneOf(lanes),
  timeoutMs: limitRule,
  deadlineMs: limitRule,
  latencyMs: limitRule,
  oversight: isOneOf(oversightModes),
  outOfCredits: isOneOf(outOfCreditsChoices),
}
