// The public API as text: `api/PACKAGE.txt` has each entry point of a published package, and each name that it exports with its
// declaration, as the compiler emits it. A change of the API so shows in the review, and none happens unseen.
//
//   pnpm api          writes the files
//   pnpm check:api    fails where they are not as the sources say, and shows the difference
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describeEntries } from './api/describe-entries.ts'

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly publishConfig?: { readonly exports: Readonly<Record<string, { readonly types: string }>> }
}

const workspace = resolve(import.meta.dirname, '..')
const recorded = join(workspace, 'api')

if (process.argv.includes('--check')) check()
else write(recorded)

function write(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const packages = globSync('packages/*/package.json', { cwd: workspace })
    .map((file) => ({ file, manifest: JSON.parse(readFileSync(join(workspace, file), 'utf8')) as Manifest }))
    .filter(({ manifest }) => manifest.private !== true)
  const entries = packages.flatMap(({ file, manifest }) =>
    Object.entries(manifest.publishConfig?.exports ?? {}).map(([subpath, { types }]) => ({
      page: `${manifest.name.replace(/^@ku0\//, '')}.txt`,
      name: manifest.name + subpath.slice(1),
      file: join(workspace, file, '..', types),
    })),
  )
  const texts = describeEntries(entries).map((text, index) => ({ page: entries[index]?.page ?? '', text }))
  for (const [name, parts = []] of Object.entries(Object.groupBy(texts, ({ page }) => page)))
    writeFileSync(join(folder, name), parts.map(({ text }) => text).join('\n'))
}

function check(): void {
  const scratch = mkdtempSync(join(tmpdir(), 'api-'))
  try {
    const found = join(scratch, 'api')
    write(found)
    const { status, stdout } = spawnSync('git', ['diff', '--no-index', '--no-color', recorded, found], {
      encoding: 'utf8',
      maxBuffer: 1e8,
    })
    if (status === 0) return
    console.error(
      `${stdout}\nThe public API is not as recorded in api/. If that is meant, run "pnpm api" and commit what it writes.`,
    )
    process.exitCode = 1
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
