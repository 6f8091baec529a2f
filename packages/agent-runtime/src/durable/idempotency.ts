import { canonical, type Digest, encode } from '@ku0/agent-runtime-core'

/**
 * The key by which a tool recognises a repeated call: sha256 of task, step, generation and input. It depends on neither the
 * attempt nor the position, so a step that runs again after a crash has the same. Source: `docs/semantics.md 4.6`.
 */
export function idempotencyKey(
  digest: Digest,
  taskId: string,
  stepKey: string,
  inputHash: string | null,
): string {
  return digest.sha256Hex(canonical([taskId, stepKey, GENERATION, inputHash]))
}

/** The hash of the input that a step declares. */
export function inputHashOf(digest: Digest, stepKey: string, input: unknown): string {
  return digest.sha256Hex(encode(input, { what: `the input of step '${stepKey}'` }))
}

/** How often a human sent the task back and its memos were dropped: there is no such thing yet. */
const GENERATION = 0
