import { join } from 'node:path'
import { storeSuite, type TestTools } from '@ku0/agent-runtime-conformance'
import { describe, expect, onTestFinished, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

/** Each rule is proven in memory, among the quick tests. A landing runs every third test on a file, from all sections, and each night runs all. */
const step = draws(1, 3, 1)
let count = 0
const register: TestTools['test'] = test
const every = Object.assign(
  (title: string, body: () => Promise<void>) => {
    if (count % step === 0) register(title, body)
    count += 1
  },
  { skip: test.skip },
)

// How durable it is changes no rule, only when an answer comes: durability.test.ts.
storeSuite(
  'a SQLite file inline',
  (opening) => {
    const path = join(scratchFolder(), 'store.db')
    onTestFinished(() => assertClosedStore(path, opening.config))
    return openStore(`sqlite:${path}`, { ...opening, durability: 'normal' })
  },
  { describe, test: every, expect },
  { digest: nodeDigest },
)
