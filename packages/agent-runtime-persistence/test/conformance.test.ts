import { storeSuite } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { openStore } from '../src/index.ts'
import { nodeDigest } from './scratch-folder.ts'

storeSuite(
  'sqlite::memory: inline',
  (opening) => openStore('sqlite::memory:', opening),
  { describe, test, expect },
  { digest: nodeDigest },
)
