import { canonical, type Digest, encode } from '@ku0/agent-runtime-core'

/**
 * The key by which a tool recognises a repeated call: sha256 of task, step, generation and input. It depends on neither the
 * attempt nor the position, so a step that runs again after a crash has the same; a rejection that sends the task back begins a
 * new generation. Source: `docs/semantics.md 4.6`.
 */
export function idempotencyKey(
  digest: Digest,
  taskId: string,
  stepKey: string,
  inputHash: string | null,
  generation: number,
): string {
  return digest.sha256Hex(canonical([taskId, stepKey, generation, inputHash]))
}

/** The hash of the input that a step declares. */
export function inputHashOf(digest: Digest, stepKey: string, input: unknown): string {
  return digest.sha256Hex(encode(input, { what: `the input of step '${stepKey}'` }))
}
