import type { TestTools } from '@ku0/agent-runtime-conformance'
import { describe, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'

/**
 * `describe` and `test` for a suite of the store that is long on its database. The quick tests prove each rule in memory. Among the long tests a
 * landing registers every twentieth test, at least one of each section, and each night all of them. `from` says which of each twenty, and the
 * turn of the landing moves it on.
 */
export function someTests(from: number): Pick<TestTools, 'describe' | 'test'> {
  const step = draws(1, 20, 1)
  const first = from + Number(process.env['TEST_TURN'] ?? 0)
  let count = 0
  const [begin, register]: [TestTools['describe'], TestTools['test']] = [describe, test]
  /** The tests of the section that is being registered, and whether it has one. */
  let section: { readonly tests: (() => void)[]; isEmpty: boolean } = { tests: [], isEmpty: true }
  return {
    describe: (name, body) => {
      begin(name, () => {
        section = { tests: [], isEmpty: true }
        body()
        if (section.isEmpty) section.tests[0]?.()
      })
    },
    test: Object.assign(
      (title: string, body: () => Promise<void>) => {
        const add = () => register(title, body)
        section.tests.push(add)
        if (count % step === first % step) {
          add()
          section.isEmpty = false
        }
        count += 1
      },
      { skip: test.skip },
    ),
  }
}
