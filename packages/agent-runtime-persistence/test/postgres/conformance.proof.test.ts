import { storeSuite } from '@ku0/agent-runtime-conformance'
import { expect, vi } from 'vitest'
import { everyTenth } from '../helpers/every-tenth.ts'
import { emptyPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

// Minutes of virtual time pass tick by tick, each with a question to the server.
vi.setConfig({ testTimeout: 300_000 })

storeSuite(
  'PostgreSQL',
  ({ config, environment }) => emptyPostgresStore(config, environment),
  { ...everyTenth(1), expect },
  { digest: nodeDigest, quiet },
)
