import { RuntimeError } from '@ku0/agent-runtime-core'

/** Runtimes other than Node.js that say they are compatible with it, by their name in `process.versions`. */
const others = { bun: 'Bun', deno: 'Deno' } as const

/**
 * better-sqlite3 13 crashes without a word on Node versions it was not built for, so the version is looked at before the first
 * open. Bun and Deno name a version of Node.js, too, and are refused: their clocks start with the process, so two of them would
 * take each other's leases (docs/decisions/0021-bun-and-deno.md). Throws `node_unsupported`.
 */
export function assertNodeSupported(
  version: string = process.versions.node,
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): void {
  for (const [key, name] of Object.entries(others)) {
    const other = versions[key]
    if (other === undefined) continue
    throw new RuntimeError(
      'node_unsupported',
      `${name} ${other} is not supported: its clock starts with the process, and two processes would take each other's leases; ` +
        'run this program with Node.js ^22.18.0, ^24.0.0 or 26 and later (node FILE)',
      { details: { version: other, runtime: key } },
    )
  }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if ((major === 22 && minor >= 18) || major === 24 || major >= 26) return
  throw new RuntimeError(
    'node_unsupported',
    `Node.js ${version} is not supported: use ^22.18.0, ^24.0.0 or 26 and later`,
    { details: { version } },
  )
}
