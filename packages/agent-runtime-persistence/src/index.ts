/** @module @ku0/agent-runtime-persistence */

export { openStore } from './open-store.ts'
export type { OpenStoreOptions } from './open-store-options.ts'
export { assertStoreUrl, parseStoreUrl } from './store-url.ts'
export { isPostgresUrl } from './postgres/connection/url.ts'
export { assertNodeSupported } from './node-version.ts'
export { backupStore, importStore, inspectStore, probeServer, verifyStore } from './care/maintenance.ts'
export type { ServerCheck, ServerReport } from './postgres/care/probe.ts'
export type { Backup, BackupOptions } from './care/backup-store.ts'
export type { Imported, ImportOptions } from './care/import-store.ts'
export type { InspectOptions, Inspection, Problem, StoreFile, StoreProcess } from './care/inspect-store.ts'
export type { Seal, Verification, VerifyOptions, VerifyProgress } from './care/verify/verification.ts'
export type { StoreFault } from '@ku0/agent-runtime-core'
