import { RuntimeError } from '@ku0/agent-runtime-core'

/**
 * better-sqlite3 13 crashes without a word on Node versions it was not built for, so the version is looked at before the first
 * open. Throws `node_unsupported`.
 */
export function assertNodeSupported(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if ((major === 22 && minor >= 18) || major === 24 || major >= 26) return
  throw new RuntimeError(
    'node_unsupported',
    `Node.js ${version} is not supported: use ^22.18.0, ^24.0.0 or 26 and later`,
    { details: { version } },
  )
}
