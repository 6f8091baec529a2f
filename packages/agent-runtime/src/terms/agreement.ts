import {
  clientTiers,
  ConfigError,
  isName,
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
  show,
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
  const which = isName(terms.name) ? `agreement ${show(terms.name)}: ` : 'agreement: '
  const problems = problemsIn(terms, rules, { path: which, required: ['name', 'client'] })
  if (problems.length > 0) throw new ConfigError(problems)
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

const [, isNames] = namesRule
const rules: Rules<AgreementTerms> = {
  name: nameRule,
  client: nameRule,
  agents: [
    'a list of names, at least one',
    (given) => isNames(given) && (given as readonly unknown[]).length > 0,
  ],
  tier: isOneOf(clientTiers),
  lane: isOneOf(lanes),
  timeoutMs: limitRule,
  deadlineMs: limitRule,
  latencyMs: limitRule,
  oversight: isOneOf(oversightModes),
  outOfCredits: isOneOf(outOfCreditsChoices),
}
