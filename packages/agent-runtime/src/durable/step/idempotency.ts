import { type Digest, encode } from '@ku0/agent-runtime-core'

/** The hash of the input that a step declares. */
export function inputHashOf(digest: Digest, stepKey: string, input: unknown): string {
  return digest.sha256Hex(encode(input, { what: `the input of step '${stepKey}'` }))
}
