import { guarded } from './pass/guarded.ts'
import { surroundingStep } from './step/inside-step.ts'
import { assertEmitted, type ExchangeTerms } from '../terms/exchange.ts'
import type { Pass } from './pass/pass.ts'
import type { Scope } from './pass/scope.ts'

/** `ctx.emit`: appends to the task's output stream. Source: `docs/semantics.md 9`. */
export function emit(pass: Pass, scope: Scope, terms: ExchangeTerms, chunk: unknown): Promise<void> {
  return guarded(scope, () => {
    assertEmitted(terms, chunk)
    const text = scope.attempt.parts.values.encode(chunk, {
      what: 'an emitted value',
      maxBytes: scope.attempt.parts.config.maxPayloadBytes,
    })
    // A later pass does not run the step's function, and a handler that starts from a snapshot leaves out
    // earlier work.
    const comesAgain = surroundingStep(pass) === undefined && !pass.isFromSnapshot
    return pass.output.append(text, comesAgain)
  })
}
