// Publishes the public packages, in the order in which they need each other.
//
//   pnpm release --dry-run        builds and packs them, checks the tarballs and shows what would be published; touches no network
//   pnpm release --pack FOLDER    writes the tarballs to a folder, from which npm installs them; with --dry-run, too, it does both
//   pnpm release                  publishes with npm, which has to be logged in; packages that the registry has are left out
//
// A release needs a clean tree, no waiting changeset, and a CHANGELOG that names the version. `pnpm changeset version` makes it.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { hashOfSources, recordBuilt } from './built.ts'
import { extrasOf } from './publish/manifest.ts'
import { packPackages } from './publish/pack.ts'
import { publicPackages } from './publish/packages.ts'
import { filesOf, inOrderOfNeed, lineOf, obstacles, unexpectedFiles } from './publish/release-checks.ts'

const workspace = resolve(import.meta.dirname, '..')
const { values: flags } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, pack: { type: 'string' } },
})
const packages = inOrderOfNeed(publicPackages(workspace))
const scratch = mkdtempSync(join(tmpdir(), 'release-'))
try {
  const hash = hashOfSources()
  const tsc = join(workspace, 'node_modules/typescript/bin/tsc')
  const folders = packages.map(({ folder }) => folder)
  execFileSync(process.execPath, [tsc, '-b', ...folders], { cwd: workspace, stdio: 'inherit' })
  const to = flags.pack === undefined ? scratch : resolve(flags.pack)
  mkdirSync(to, { recursive: true })
  const packed = await packPackages(workspace, packages, to)
  for (const it of packed) {
    const unexpected = unexpectedFiles(filesOf(it.tarball), extrasOf(it.manifest))
    if (unexpected.length > 0)
      throw new Error(
        `${it.manifest.name} would publish what is not meant for users: ${unexpected.join(', ')}`,
      )
    console.log(lineOf(it))
  }
  recordBuilt(hash)
  if (flags.pack !== undefined) console.log(`npm install ${to}/*.tgz installs them`)
  if (flags.pack === undefined || flags['dry-run']) release(packed)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

function release(
  packed: readonly { readonly tarball: string; readonly manifest: { name: string; version: string } }[],
) {
  const changesets = globSync('.changeset/*.md', { cwd: workspace })
    .map((file) => basename(file))
    .filter((file) => file !== 'README.md')
  const changelogs = Object.fromEntries(
    packages.map(({ folder, manifest }) => [manifest.name, textOf(join(folder, 'CHANGELOG.md'))]),
  )
  const problems = obstacles(packages, changelogs, changesets)
  if (flags['dry-run']) {
    console.log(`${packed.length} packages would be published; nothing was`)
    for (const problem of problems) console.log(`before a release: ${problem}`)
    return
  }
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: workspace, encoding: 'utf8' })
  if (changed !== '') problems.push('the tree has changes that are not committed')
  if (problems.length > 0) throw new Error(`nothing was published:\n${problems.join('\n')}`)
  for (const { tarball, manifest } of packed) {
    const name = `${manifest.name}@${manifest.version}`
    if (spawnSync('npm', ['view', name, 'version'], { encoding: 'utf8' }).stdout.trim() === manifest.version)
      console.log(`${name} is published already`)
    else execFileSync('npm', ['publish', tarball, '--access', 'public'], { stdio: 'inherit' })
  }
}

function textOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
