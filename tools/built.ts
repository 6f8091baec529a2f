// Says which programs of tests load our packages as they are built for users, and not from their sources: such a process starts in half the time of a processor.
//
//   node tools/built.ts    fails where `pnpm release --pack` has not run, or something has changed since
//
// A program loads a package either as it is built or from its sources, never both, because `instanceof` fails between two copies of a class. A program that
// imports a source which is no entry point of its package has all of that package from its sources. What was built from other sources is not used.
import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  entriesOf,
  type Entry,
  type Manifest,
  programsOf,
  readManifest,
  threadsOf,
} from './publish/manifest.ts'
import { publicPackages } from './publish/packages.ts'
import { builtRecord, bundlePackage, staged } from './publish/stage-package.ts'

const workspace = resolve(import.meta.dirname, '..')
const record = join(workspace, builtRecord)
/** The folder of each package for what is built here: beside `src`, so that modules find by `import.meta.url` what they look for. */
const forTests = 'built'

/** What tools/built/preload.mjs reads. */
export interface Built {
  /** Of the sources from which the packages were built. */
  readonly hash: string
  /** A release has built them. */
  readonly isPacked: boolean
  /** By the URL of the source of an entry point: its package, and the URL of its bundle. */
  readonly entries: Readonly<Record<string, { readonly of: string; readonly url: string }>>
  /** By the URL of a program: the packages that it has from their sources. A program that is not here has all of them so. */
  readonly programs: Readonly<Record<string, readonly string[]>>
}

/** What tests start. */
const tests = [
  'packages/*/test/**/*.ts',
  'packages/agent-gym/{bin,src}/**/*.{ts,mjs}',
  'packages/*/bin/*.mjs',
  'examples/*/{src,test}/**/*.ts',
]
/** Those of them whose tasks a worker loads. */
const given = [
  'packages/*/test/{isolation,pool}/programs/*.ts',
  'packages/*/test/project/*.ts',
  'examples/*/src/*.ts',
  'packages/agent-gym/src/demo/*.ts',
]

function filesOf(patterns: readonly string[]): readonly string[] {
  const exclude = ['**/*.test.ts', '**/node_modules/**']
  return globSync(patterns, { cwd: workspace, exclude }).map((file) => join(workspace, file))
}

/**
 * The variables of the environment with which processes and threads of tests load built packages. Those of a release serve if they are of the same sources;
 * otherwise they are built here.
 */
export async function environmentOfBuilt(): Promise<Readonly<Record<string, string>>> {
  const hash = hashOfSources()
  if (readRecord(record)?.hash !== hash) {
    rmSync(record, { force: true })
    await Promise.all(
      publicPackages(workspace).map(({ folder }) => {
        const to = join(folder, forTests)
        rmSync(to, { recursive: true, force: true })
        return bundlePackage(folder, to, ({ source }) => source)
      }),
    )
    writeRecord({ ...describeBuilt(forTests), hash, isPacked: false })
  }
  const preload = pathToFileURL(join(import.meta.dirname, 'built/preload.mjs')).href
  const options = `${process.env['NODE_OPTIONS'] ?? ''} --import=${preload}`.trim()
  return { BUILT_PACKAGES: record, NODE_OPTIONS: options }
}

/** Of all that the packages and the programs of tests are; another one each time where no repository says what that is. */
export function hashOfSources(): string {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...hashed]
  const { status, stdout } = spawnSync('git', args, { cwd: workspace, encoding: 'utf8', maxBuffer: 1e8 })
  const hash = createHash('sha256').update(status === 0 ? '' : randomUUID())
  const files = stdout.split('\0').filter((file) => file !== '')
  for (const file of files.toSorted().filter((it) => existsSync(join(workspace, it))))
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(workspace, file)))
  return hash.digest('hex')
}

const hashed = [
  'packages',
  'examples',
  'tools/publish',
  'tools/built.ts',
  'package.json',
  'pnpm-lock.yaml',
  'LICENSE',
]

/** What is in the folder `to` of each package. */
function describeBuilt(to: string): Pick<Built, 'entries' | 'programs'> {
  const packages = publicPackages(workspace)
  const entries = packages.flatMap(({ folder, manifest }) =>
    entriesOf(manifest).map(({ name, source }) => ({
      of: manifest.name,
      source: join(folder, source),
      bundle: join(folder, to, `${name}.js`),
    })),
  )
  const imports = new Imports()
  const sourcesOf = (find: (manifest: Manifest) => readonly Entry[]) =>
    packages.flatMap(({ folder, manifest }) => find(manifest).map(({ source }) => join(folder, source)))
  const [started, alone] = [sourcesOf(programsOf), sourcesOf(threadsOf)]
  // Some load modules that they are given.
  const ofGiven = filesOf(given).flatMap((file) => imports.insideOf(file))
  const loadsGiven = (file: string) =>
    started.includes(file) || imports.reaches(file, '@ku0/agent-runtime-cli')
  const fromSources = (file: string) =>
    // All of its code is in one bundle, and it shares no object with others.
    alone.includes(file)
      ? []
      : [
          ...new Set([
            ...(started.includes(file) ? [] : imports.insideOf(file)),
            ...(loadsGiven(file) ? ofGiven : []),
          ]),
        ]
  const programs = Object.fromEntries(
    [...filesOf(tests), ...started].map((file) => [pathToFileURL(file).href, fromSources(file)]),
  )
  return {
    entries: Object.fromEntries(
      entries.map(({ of, source, bundle }) => [
        pathToFileURL(source).href,
        { of, url: pathToFileURL(bundle).href },
      ]),
    ),
    programs,
  }
}

/** What programs import, as far as that stands in their texts. */
export class Imports {
  /** The entry points of all packages, private ones too, by what is written in an import. */
  private readonly named = new Map<string, string>()
  /** The public packages, by the folder of their sources. */
  private readonly sources = new Map<string, string>()
  private readonly entries = new Set<string>()
  private readonly found = new Map<string, readonly string[]>()

  constructor() {
    const open = new Set(publicPackages(workspace).map(({ folder }) => folder))
    for (const file of globSync('packages/*/package.json', { cwd: workspace })) {
      const folder = join(workspace, dirname(file))
      const manifest = readManifest(folder)
      for (const [subpath, source] of Object.entries(manifest.exports ?? {})) {
        this.named.set(manifest.name + subpath.slice(1), join(folder, source))
        if (open.has(folder)) this.entries.add(join(folder, source))
      }
      if (open.has(folder)) this.sources.set(join(folder, 'src/'), manifest.name)
    }
  }

  /** The public packages of which the program loads sources that are no entry points. */
  insideOf(file: string): readonly string[] {
    const inner = this.all(file).filter((it) => it !== file && !this.entries.has(it))
    return [...new Set(inner.flatMap((it) => this.packageOf(it) ?? []))].toSorted()
  }

  /** Whether the program imports an entry point of a package. */
  reaches(file: string, name: string): boolean {
    return this.all(file).some((it) => this.entries.has(it) && this.packageOf(it) === name)
  }

  private packageOf(file: string): string | undefined {
    return [...this.sources].find(([folder]) => file.startsWith(folder))?.[1]
  }

  /** The program and what it imports, up to entry points of public packages. */
  private all(file: string): readonly string[] {
    const files = new Set([file])
    // The set grows while it is read.
    for (const it of files)
      if (it === file || !this.entries.has(it)) for (const next of this.importsOf(it)) files.add(next)
    return [...files]
  }

  private importsOf(file: string): readonly string[] {
    const known = this.found.get(file)
    if (known !== undefined) return known
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const specifiers = [...text.matchAll(statements), ...text.matchAll(calls)].map(([, name = '']) => name)
    const found = specifiers.flatMap((name) =>
      name.startsWith('.') || isAbsolute(name)
        ? [resolve(dirname(file), name)]
        : (this.named.get(name) ?? []),
    )
    this.found.set(file, found)
    return found
  }
}

const statements = /^\s*(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
const calls = /\bimport\(\s*['"]([^'"]+)['"]/g

/** Keeps which programs load the packages that a release has packed just now. `hash` is that of the sources before it did. */
export function recordBuilt(hash: string): void {
  writeRecord({ ...describeBuilt(join(staged, 'dist')), hash, isPacked: true })
}

/** Whether a release has packed the packages, with the pages of the console, and nothing has changed since. */
export function isPacked(file = record): boolean {
  const built = readRecord(file)
  return built?.isPacked === true && built.hash === hashOfSources()
}

function readRecord(file: string): Pick<Built, 'hash' | 'isPacked'> | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Built) : undefined
}

function writeRecord(built: Built): void {
  mkdirSync(dirname(record), { recursive: true })
  writeFileSync(record, JSON.stringify(built))
}

if (import.meta.main && !isPacked()) process.exitCode = 1
