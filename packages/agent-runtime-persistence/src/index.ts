export { openStore, parseStoreUrl, type OpenStoreOptions } from './open-store.ts'
export { assertNodeSupported } from './node-version.ts'
