import { storeSuite } from '@ku0/agent-runtime-conformance'
import { expect, vi } from 'vitest'
import { someTests } from '../helpers/some-tests.ts'
import { emptyPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

// Minutes of virtual time pass tick by tick, each with a question to the server.
vi.setConfig({ testTimeout: 300_000 })

storeSuite(
  'PostgreSQL',
  ({ config, environment }) => emptyPostgresStore(config, environment),
  { ...someTests(1), expect },
  { digest: nodeDigest, quiet },
)
