import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isInlined } from './inlined.ts'

type Ranges = Readonly<Record<string, string>>

/** The parts of a `package.json` of the workspace that matter here. Every other field is published as it stands. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string>>
  readonly bin?: Ranges
  readonly files?: readonly string[]
  readonly sideEffects?: false | readonly string[]
  /** `assets` makes the folder of this name, which is not committed. */
  readonly scripts?: Ranges
  readonly dependencies?: Ranges
  readonly devDependencies?: Ranges
  readonly peerDependencies?: Ranges
  readonly publishConfig?: { readonly threads?: readonly string[] }
}

/** What the root's `package.json` says for all packages: the repository's URL stands nowhere else. */
export interface Project {
  readonly author: string
  readonly repository: { readonly type: string; readonly url: string }
}

/** One line of a package's `exports`, and the files that are published for it. */
export interface Entry {
  readonly subpath: string
  /** The source below the package's folder, such as `./src/testing/index.ts`. */
  readonly source: string
  /** The bundle's name, such as `testing`. */
  readonly name: string
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

export function entriesOf({ name, exports }: Manifest): Entry[] {
  return Object.entries(exports).map(([subpath, source]) => {
    if (typeof source !== 'string' || !/^\.\/src\/.+\.ts$/.test(source))
      throw new Error(
        `${name}: exports["${subpath}"] has to be a source such as "./src/index.ts"; what is published follows from it`,
      )
    return { subpath, source, name: subpath === '.' ? 'index' : subpath.slice(2).replaceAll('/', '-') }
  })
}

/** The entries that do something when they are loaded, which `sideEffects` names by their sources. */
export function programsOf(manifest: Manifest): Entry[] {
  return (manifest.sideEffects || []).map((source) => {
    const entry = entriesOf(manifest).find((it) => it.source === source)
    if (entry === undefined)
      throw new Error(`${manifest.name}: sideEffects names ${source}, which is no source in its exports`)
    return entry
  })
}

/**
 * The programs of threads, which `publishConfig.threads` names by their subpaths: each shares no object with a user's code. The program of a worker process is none, because it loads the
 * user's handlers, and these import the same packages.
 */
export function threadsOf(manifest: Manifest): Entry[] {
  return (manifest.publishConfig?.threads ?? []).map((subpath) => {
    const entry = programsOf(manifest).find((it) => it.subpath === subpath)
    if (entry === undefined)
      throw new Error(
        `${manifest.name}: publishConfig.threads names ${subpath}, which is no entry in sideEffects`,
      )
    return entry
  })
}

/** Where the compiler puts what it makes of an entry, below the package's folder. */
export function compiledOf({ source }: Entry, extension: '.js' | '.d.ts'): string {
  return source.replace('./src/', 'dist/').replace(/\.ts$/, extension)
}

/** The folders and files beside the bundles that a package publishes, such as `bin`. */
export function extrasOf({ files = [] }: Manifest): string[] {
  return files.filter((file) => file !== 'dist' && !file.startsWith('!'))
}

/** Whether an installed package finds `other` beside it; otherwise the code of `other` is part of its bundles. */
export function isInstalledWith({ name, dependencies, peerDependencies }: Manifest, other: string): boolean {
  if (isInlined(other)) return false
  if (other === name || other in { ...dependencies, ...peerDependencies }) return true
  throw new Error(`${name} imports ${other}, which is neither a dependency nor a peer in its package.json`)
}

/** The project's page, for a browser. */
export function homepageOf({ repository }: Project): string {
  return repository.url.replace(/^git\+|\.git$/g, '')
}

/**
 * The `package.json` that is published for the package in `folder`, which is `directory` in the repository. Dependencies of others become caret ranges,
 * so that a program takes their fixes without a release here. Our own packages are released together and name each other exactly.
 */
export function publishedManifest(
  manifest: Manifest,
  project: Project,
  folder: string,
  directory: string,
): Record<string, unknown> {
  const { scripts: _, devDependencies: __, publishConfig: ___, dependencies = {}, ...kept } = manifest
  const { peerDependencies } = manifest
  const programs = programsOf(manifest)
  const page = homepageOf(project)
  const exact = (range: string, name: string) => publishedRange(folder, name, range)
  return {
    ...kept,
    author: project.author,
    repository: { ...project.repository, directory },
    homepage: `${page}/tree/main/${directory}#readme`,
    bugs: { url: `${page}/issues` },
    sideEffects: programs.length === 0 ? false : programs.map(({ name }) => `./dist/${name}.js`),
    exports: Object.fromEntries(
      entriesOf(manifest).map((entry) => [
        entry.subpath,
        { types: typesOf(entry), default: `./dist/${entry.name}.js` },
      ]),
    ),
    files: ['dist', 'CHANGELOG.md', ...extrasOf(manifest)],
    dependencies: mapRanges(
      Object.fromEntries(Object.entries(dependencies).filter(([name]) => !isInlined(name))),
      exact,
    ),
    ...(peerDependencies === undefined ? {} : { peerDependencies: mapRanges(peerDependencies, exact) }),
    publishConfig: { access: 'public' },
  }
}

/** Where an entry's declaration is published. */
function typesOf(entry: Entry): string {
  return compiledOf(entry, '.d.ts').replace('dist/', './dist/types/')
}

function mapRanges(ranges: Ranges, map: (range: string, name: string) => string): Ranges {
  return Object.fromEntries(Object.entries(ranges).map(([name, range]) => [name, map(range, name)]))
}

/** The version in the catalog is exact, so it is the installed one. */
function publishedRange(folder: string, name: string, range: string): string {
  if (range !== 'workspace:*' && range !== 'catalog:') return range
  const { version } = readManifest(join(folder, 'node_modules', name))
  return range === 'workspace:*' ? version : `^${version}`
}
