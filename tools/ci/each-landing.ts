// What of the long tests each landing runs, whoever's turn it is.
import { meaning, provenPages, type Reference, references } from '../proof.ts'
import { leftToTheNight } from './night.ts'

/** Two take turns by themselves: other tests of the store's suite each time, with a test of each section. One counts what its tests have seen. */
export const wholeFiles: readonly string[] = [
  'packages/agent-runtime-persistence/test/model/model.proof.test.ts',
  'packages/agent-runtime-persistence/test/postgres/conformance.proof.test.ts',
  'packages/agent-runtime-server/test/remote/conformance.proof.test.ts',
]

/** Of each rule that no quick test holds, the first test that is not left to the night. */
export function neededOf(all: readonly Reference[], left: ReadonlySet<string>): Reference[] {
  const rules = Map.groupBy(all, ({ page, rule }) => `${page} ${rule}`)
  return [...rules.values()].flatMap((tests) => {
    const isHeld = tests.some(({ path }) => path.endsWith('.ts') && !path.endsWith('.proof.test.ts'))
    const first = tests.find(({ path }) => path.endsWith('.proof.test.ts') && !left.has(path))
    return isHeld || first === undefined ? [] : [first]
  })
}

let needed: readonly Reference[] | undefined

/** Says of the tests of a file, asked one after the other, whether each landing runs them. Of several that one title means the first is enough. */
export function isNeeded(file: string): (fullName: string) => boolean {
  if (wholeFiles.includes(file)) return () => true
  needed ??= neededOf(provenPages.flatMap(references), new Set(leftToTheNight.map((it) => it.file)))
  let missing = needed.filter(({ path }) => path === file).map(meaning)
  return (name) => {
    const before = missing.length
    missing = missing.filter((isMeant) => !isMeant({ file, name }))
    return missing.length < before
  }
}
