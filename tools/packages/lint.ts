import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

/** What linters of packages find wrong with a tarball: its manifest and files, and how compilers find its types. */
export async function problemsOfTarball(tarball: string): Promise<string[]> {
  // A copy, because the file's bytes may be a part of a larger buffer.
  const bytes = Uint8Array.from(readFileSync(tarball))
  const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, strict: true })
  const said = messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code)
  const analysis = await checkPackage(createPackageFromTarballData(bytes))
  if (analysis.types === false) return [...said, 'has no types']
  return [...said, ...analysis.problems.filter(matters).map((problem) => JSON.stringify(problem))]
}

/** The packages are ES modules: what Node 10 and old bundlers would make of them says nothing of use. */
function matters(problem: Problem): boolean {
  if (problem.kind === 'CJSResolvesToESM') return false
  return !('resolutionKind' in problem && problem.resolutionKind === 'node10')
}
