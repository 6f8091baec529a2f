import { execSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, relative, sep } from 'node:path'
import { licencesOf, packageOf, writeBundles } from './bundle.ts'
import { copyDeclarations } from './declarations.ts'
import {
  compiledOf,
  entriesOf,
  type Entry,
  extrasOf,
  homepageOf,
  isInstalledWith,
  threadsOf,
  type Project,
  publishedManifest,
  readManifest,
} from './manifest.ts'
import { publishedPage } from './page.ts'

/** The folder of a package from which it is packed and published: `publishConfig.directory` of each package names it. */
export const staged = 'publish'

/** The file that says from which sources the packages were built (tools/built.ts), in the folder of the workspace. */
export const builtRecord = 'node_modules/.cache/built.json'

/**
 * Makes the folder `publish` of the package in `folder`: everything that is published for it, and nothing else. The compiler has written its modules and declarations
 * to `dist`. All of it follows from the package's `exports` and `files`.
 */
export async function stagePackage(workspace: string, folder: string): Promise<void> {
  const manifest = readManifest(folder)
  const project = JSON.parse(readFileSync(join(workspace, 'package.json'), 'utf8')) as Project
  const directory = relative(workspace, folder).split(sep).join('/')
  const entries = entriesOf(manifest)
  const target = join(folder, staged)
  // It speaks of what was built before.
  rmSync(join(workspace, builtRecord), { force: true })
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target)

  const to = join(target, 'dist')
  const inlined = await bundlePackage(folder, to, (entry) => compiledOf(entry, '.js'))
  const licences = licencesOf(inlined)
  if (licences !== '') writeFileSync(join(to, 'LICENSES.txt'), licences)
  copyDeclarations(
    entries.map((entry) => relative('dist', compiledOf(entry, '.d.ts'))),
    join(folder, 'dist'),
    join(target, 'dist/types'),
    (name) => isInstalledWith(manifest, name),
  )

  const published = publishedManifest(manifest, project, folder, directory)
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`)
  for (const file of ['README.md', 'CHANGELOG.md'].filter((it) => existsSync(join(folder, it)))) {
    const text = readFileSync(join(folder, file), 'utf8')
    writeFileSync(join(target, file), publishedPage(text, directory, homepageOf(project)))
  }
  cpSync(join(workspace, 'LICENSE'), join(target, 'LICENSE'))
  if (manifest.scripts?.['assets'] !== undefined)
    execSync(manifest.scripts['assets'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      // The machine's own Node may be too old.
      env: { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}` },
    })
  for (const file of extrasOf(manifest)) cpSync(join(folder, file), join(target, file), { recursive: true })
}

/**
 * Writes the bundles of the package in `folder` to the folder `to`: one for each entry, whose code `fileOf` finds below the package's folder. Returns the folders of the packages whose
 * code became part of them.
 */
export async function bundlePackage(
  folder: string,
  to: string,
  fileOf: (entry: Entry) => string,
): Promise<readonly string[]> {
  const manifest = readManifest(folder)
  const entries = entriesOf(manifest)
  const isExternal = (name: string) => isInstalledWith(manifest, name)
  const threads = new Set(threadsOf(manifest).map(({ name }) => name))
  const files = (some: readonly Entry[]) =>
    Object.fromEntries(some.map((entry) => [entry.name, join(folder, fileOf(entry))]))
  const libraries = writeBundles(files(entries.filter(({ name }) => !threads.has(name))), {
    to,
    isExternal,
    split: true,
    locate: () => undefined,
  })
  const inThreads = entries
    .filter(({ name }) => threads.has(name))
    .map((thread) => writeThread(files([thread]), to, folder, fileOf, isExternal))
  return (await Promise.all([libraries, ...inThreads])).flat()
}

/**
 * A thread starts with one file that has all of our code inside, other packages of ours too: it is found and read once, and whoever bundles a program copies that file. A thread
 * shares no class with another, so nothing is there twice.
 */
function writeThread(
  entry: Readonly<Record<string, string>>,
  to: string,
  folder: string,
  fileOf: (entry: Entry) => string,
  isExternal: (name: string) => boolean,
): Promise<readonly string[]> {
  return writeBundles(entry, {
    to,
    isExternal: (name) => !name.startsWith('@ku0/') && isExternal(name),
    split: false,
    locate: (specifier) => {
      if (!specifier.startsWith('@ku0/')) return undefined
      const home = realpathSync(join(folder, 'node_modules', packageOf(specifier)))
      const subpath = `.${specifier.slice(packageOf(specifier).length)}`
      const entryOf = entriesOf(readManifest(home)).find((it) => it.subpath === subpath)
      return entryOf && join(home, fileOf(entryOf))
    },
  })
}
