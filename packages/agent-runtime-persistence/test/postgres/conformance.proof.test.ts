import { storeSuite } from '@ku0/agent-runtime-conformance'
import { describe, expect, test, vi } from 'vitest'
import { emptyPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

// Hours of virtual time pass tick by tick, each with a question to the server.
vi.setConfig({ testTimeout: 900_000 })

storeSuite(
  'PostgreSQL',
  ({ config, environment }) => emptyPostgresStore(config, environment),
  { describe, test, expect },
  {
    digest: nodeDigest,
    quiet,
  },
)
