export { openStore, parseStoreUrl, type OpenStoreOptions } from './open-store.ts'
export { assertNodeSupported } from './node-version.ts'
export { backupStore, type Backup, type BackupOptions } from './backup-store.ts'
export {
  inspectStore,
  type Inspection,
  type Problem,
  type StoreFile,
  type StoreProcess,
} from './inspect-store.ts'
export { verifyStore, type VerifyOptions } from './verify-store.ts'
export type { Verification } from './verify/verify-database.ts'
export type { StoreFault } from './verify/faults.ts'
