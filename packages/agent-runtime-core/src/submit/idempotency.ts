import { canonical } from '../codec/codec.ts'

/**
 * The key by which a tool recognises a repeated call: sha256 of task, step, generation and input. It depends on neither the
 * attempt nor the position, so a step that runs again after a crash has the same; a rejection that sends the task back begins a
 * new generation. Source: `docs/semantics.md 4.6`.
 */
export function idempotencyKey(
  digest: { sha256Hex(text: string): string },
  taskId: string,
  stepKey: string,
  inputHash: string | null,
  generation: number,
): string {
  return digest.sha256Hex(canonical([taskId, stepKey, generation, inputHash]))
}
