import { join } from 'node:path'
import { storeSuite } from '@ku0/agent-runtime-conformance'
import { expect, onTestFinished } from 'vitest'
import { openStore } from '../../src/index.ts'
import { someTests } from '../helpers/some-tests.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

// How durable it is changes no rule, only when an answer comes: durability.test.ts.
storeSuite(
  'a SQLite file inline',
  (opening) => {
    const path = join(scratchFolder(), 'store.db')
    onTestFinished(() => assertClosedStore(path, opening.config))
    return openStore(`sqlite:${path}`, { ...opening, durability: 'normal' })
  },
  { ...someTests(0), expect },
  { digest: nodeDigest },
)
