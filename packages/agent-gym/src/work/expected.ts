import type { PlannedTask, StreamInput } from './plan.ts'
import { streamResult } from './stream.ts'
import type { JobInput } from './traders.ts'
import { factsOf, type FolderFacts, sha256, type TreeFile } from './tree.ts'

/** What a task has to return, worked out from the generated tree and not by running anything; undefined where it never returns. */
export type ExpectedOutput = (task: PlannedTask) => unknown

/** Knows the right answer for every task of a scenario. */
export function expectedOutputs(tree: readonly TreeFile[]): ExpectedOutput {
  const digests = new Map(tree.map(({ path, content }) => [path, sha256(content)]))
  const facts = new Map<string, FolderFacts>()
  const factsFor = (folder: string) => {
    const known = facts.get(folder) ?? factsOf(tree, folder)
    facts.set(folder, known)
    return known
  }
  return ({ type, input }) => {
    switch (type) {
      case 'inspect-folder': {
        const { folder, tool } = input as { folder: string; tool: boolean }
        const { files, bytes, lines, kinds, digest } = factsFor(folder)
        return { folder, files, bytes, lines, kinds, digest, bytesByTool: tool ? bytes : null }
      }
      case 'hash-files': {
        const { files } = input as { files: readonly string[] }
        return { digest: sha256(files.map((file) => digests.get(file) ?? '').join('')), files: files.length }
      }
      case 'replay-request': {
        const { contextBytes, generatedTokens } = input as { contextBytes: number; generatedTokens: number }
        return { contextBytes, generatedTokens }
      }
      case 'spend':
        return (input as { steps: number }).steps
      case 'stream':
        return streamResult(input as StreamInput, (file) => digests.get(file) ?? '')
      case 'job':
        return digests.get((input as JobInput).work)
      case 'supervise':
      case 'no-op':
        return null
      case 'nap':
        return (input as { ms: number }).ms
      case 'no-op-steps':
        return (input as { steps: number }).steps
      case 'follow-log':
      case 'crash-process':
        return undefined
    }
  }
}
