import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const workspace = resolve(import.meta.dirname, '../../../..')
/** The packages whose behaviour the long runs are about. */
const packages = ['agent-runtime', 'agent-runtime-core', 'agent-runtime-persistence']

/**
 * A digest of the sources that long runs are evidence for: their paths and contents, but for what is there for tests only. Equal digests mean equal
 * sources, whatever became of the commit.
 */
export function sourcesDigest(root = workspace): string {
  const hash = createHash('sha256')
  const files = packages
    .flatMap((name) => globSync(`packages/${name}/src/**/*.ts`, { cwd: root }))
    .filter((file) => !file.includes('/testing/'))
  for (const file of files.toSorted()) hash.update(`${file}\n`).update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 16)
}
