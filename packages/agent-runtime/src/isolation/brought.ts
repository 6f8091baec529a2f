import { type ConfigProblem, RuntimeError } from '@ku0/agent-runtime-core'
import type { RateLimitRule } from '../api/rate-limit-rule.ts'
import { type ValueOptions, valueProblems } from '../terms/value-codec.ts'
import type { Brought } from './words.ts'

/** The options whose functions a module has to bring into a runner. */
export interface BroughtOptions extends ValueOptions {
  readonly rateLimited?: RateLimitRule | undefined
}

/** What a worker has of these options. */
export function broughtBy({ codecs = [], payloadCodec, rateLimited }: BroughtOptions): Brought {
  return {
    codecs: codecs.map(nameOf),
    isSealed: payloadCodec !== undefined,
    hasRateLimited: rateLimited !== undefined,
  }
}

/** The same options as the module of an isolated task exports them. Throws unless they are those of its worker. */
export function broughtIn(
  module: Readonly<Record<string, unknown>>,
  url: string,
  expected: Brought,
): BroughtOptions {
  const { codecs, payloadCodec, rateLimited } = module as BroughtOptions
  const [problem]: readonly ConfigProblem[] = valueProblems({ codecs, payloadCodec })
  if (problem !== undefined) throw refusal(url, `its export ${problem.path} is not ${problem.allowed}`)
  const found = broughtBy({ codecs, payloadCodec, rateLimited })
  const missing = expected.codecs.filter((name) => !found.codecs.includes(name))
  if (missing.length > 0)
    throw refusal(url, `it does not export 'codecs' with ${missing.join(', ')}, which its worker has`)
  if (expected.isSealed !== found.isSealed) throw refusal(url, differing('payloadCodec', expected.isSealed))
  if (expected.hasRateLimited && !found.hasRateLimited) throw refusal(url, differing('rateLimited', true))
  return { codecs, payloadCodec, rateLimited }
}

function differing(name: string, isExpected: boolean): string {
  return isExpected
    ? `it does not export '${name}', which its worker has`
    : `it exports '${name}', which its worker does not have`
}

function refusal(url: string, what: string): RuntimeError {
  return new RuntimeError(
    'invalid_config',
    `${url} cannot run isolated tasks: ${what}. Functions do not cross to a thread or process: export the same codecs, payloadCodec and rateLimited from the module as the worker's options have`,
  )
}

function nameOf({ name, version = 1 }: NonNullable<ValueOptions['codecs']>[number]): string {
  return `${name}@${version}`
}
