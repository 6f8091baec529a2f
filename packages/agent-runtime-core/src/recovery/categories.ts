import { codeIn, read } from '../error/record.ts'
import type { FailureKind } from '../task/failure-kind.ts'
import type { FailureCategory } from './recovery.ts'

/** The category of a kind of failure; undefined for one that no other try can end otherwise. Source: `docs/semantics.md 14.3`. */
export function categoryOfKind(kind: FailureKind): FailureCategory | undefined {
  switch (kind) {
    case 'error':
    case 'crashed':
    case 'poisoned':
    case 'lease_lost':
    case 'escalated':
    case 'gateway_unreachable':
      return 'crash'
    case 'timeout':
      return 'timeout'
    case 'hard_limit':
    case 'limit_exceeded':
    case 'budget_exceeded':
      return 'resource_exhaustion'
    case 'invalid_output':
      return 'invalid_output'
    case 'not_approved':
      return 'human_rejection'
    case 'schema_mismatch':
      return undefined
  }
}

/**
 * The categories of an error: those that its code, its causes and the errors of an `AggregateError` name, each once; `crash` when
 * none of them names one. Reads at most {@link MAX_PARTS} errors, so that a cycle of causes ends. Source: `docs/semantics.md 14.3`.
 */
export function categoriesOf(error: unknown): readonly FailureCategory[] {
  const found = new Set<FailureCategory>()
  const parts: unknown[] = [error]
  for (let at = 0; at < Math.min(parts.length, MAX_PARTS); at++) {
    const part = parts[at]
    const category = categoryOfCode(codeIn(part)) ?? categoryOfName(read(part, 'name'))
    if (category !== undefined) found.add(category)
    const cause = read(part, 'cause')
    if (cause !== undefined) parts.push(cause)
    const errors = read(part, 'errors')
    if (Array.isArray(errors)) parts.push(...errors.slice(0, MAX_PARTS))
  }
  return found.size === 0 ? ['crash'] : [...found]
}

/** More errors than that are read by nobody. */
const MAX_PARTS = 32

function categoryOfCode(code: unknown): FailureCategory | undefined {
  switch (code) {
    case 'timeout':
    case 'ETIMEDOUT':
      return 'timeout'
    case 'budget_exceeded':
    case 'limit_exceeded':
    case 'memory_exceeded':
    case 'payload_too_large':
    case 'rate_limited':
      return 'resource_exhaustion'
    case 'invalid_output':
      return 'invalid_output'
    case 'not_approved':
      return 'human_rejection'
    case 'crashed':
    case 'poisoned':
    case 'lease_lost':
    case 'escalated':
      return 'crash'
    default:
      return undefined
  }
}

/** That of `AbortSignal.timeout`, for one. */
function categoryOfName(name: unknown): FailureCategory | undefined {
  return name === 'TimeoutError' ? 'timeout' : undefined
}
