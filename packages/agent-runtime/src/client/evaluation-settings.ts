import {
  type ConfigProblem,
  domainWeights,
  isName,
  isRecord,
  nameRule,
  problemsIn,
  readWeights,
  type Rule,
  type Rules,
  RuntimeError,
  type Weights,
} from '@ku0/agent-runtime-core'
import type { EvaluationSettings } from '../api/evaluations.ts'

/** The distance beyond which an agent has drifted. */
export const DRIFT_THRESHOLD = 0.2

/** A distance above 1 does not exist, so a threshold up to 1 can be exceeded. */
export const thresholdRule: Rule = [
  'a number above 0, up to 1',
  (value) => typeof value === 'number' && value > 0 && value <= 1,
]

/** The problems of the evaluation settings. */
export function evaluationProblems(given: unknown): ConfigProblem[] {
  if (given === undefined) return []
  if (!isRecord(given))
    return [{ path: 'evaluation', allowed: 'an object with domains, driftThreshold', given }]
  const { domains } = given
  return [
    ...problemsIn(given, settingRules, { path: 'evaluation.' }),
    ...Object.entries(isRecord(domains) ? domains : {}).flatMap(([name, weights]) =>
      domainProblems(name, weights),
    ),
  ]
}

/** The weights of every domain. The settings have been checked. */
export function domainsOf({ domains = {} }: EvaluationSettings): ReadonlyMap<string, Weights> {
  const own = Object.entries(domains).map(([name, weights]) => [name, readWeights(weights)] as const)
  return new Map<string, Weights>([...Object.entries(domainWeights), ...own])
}

const settingRules: Rules<EvaluationSettings> = {
  domains: ['weights by the name of a domain, such as { support: { quality: 0.7, speed: 0.3 } }', isRecord],
  driftThreshold: thresholdRule,
}

function domainProblems(name: string, given: unknown): ConfigProblem[] {
  const path = `evaluation.domains.${name}`
  if (!isName(name)) return [{ path, allowed: `a name of ${nameRule[0]}`, given: name }]
  try {
    readWeights(given, path)
    return []
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error
    const allowed = error.message.split('\n').map((line) => line.slice(path.length).replace(/^[.:] ?/, ''))
    return [{ path, allowed: allowed.join('; '), given }]
  }
}
