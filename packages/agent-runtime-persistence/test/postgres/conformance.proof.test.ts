import { storeSuite } from '@ku0/agent-runtime-conformance'
import { describe, expect, test } from 'vitest'
import { emptyPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

storeSuite(
  'PostgreSQL',
  ({ config, environment }) => emptyPostgresStore(config, environment),
  { describe, test, expect },
  {
    digest: nodeDigest,
    quiet,
  },
)
