import { vi } from 'vitest'
import { emptyPostgresStore, quiet } from '../../../agent-runtime-persistence/test/helpers/postgres-store.ts'
import { suiteOverLine } from './suite-over-line.ts'

// Minutes of virtual time pass tick by tick, each with a question to the database.
vi.setConfig({ testTimeout: 300_000 })

suiteOverLine('PostgreSQL over a line', {
  open: (config, environment) => emptyPostgresStore(config, environment, true),
  quiet,
  from: 3,
})
