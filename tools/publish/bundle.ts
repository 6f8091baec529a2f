import { existsSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { rolldown } from 'rolldown'

/** How a bundle is made. */
export interface BundleOptions {
  /** The folder that the files go to. */
  readonly to: string
  /** Whether an import of a package stays one. */
  readonly isExternal: (name: string) => boolean
  /** Whether what is loaded on demand stays a file of its own. */
  readonly split: boolean
  /** The file of an import of our own, if it is not where its package says. */
  readonly locate: (specifier: string) => string | undefined
}

/**
 * Writes one file for each of `entries`, and one for each part that entries share or load on demand, so that there is one copy of each class. Returns the folders of the
 * other packages whose code became part of the bundles.
 */
export async function writeBundles(
  entries: Readonly<Record<string, string>>,
  { to, isExternal, split, locate }: BundleOptions,
): Promise<readonly string[]> {
  const bundle = await rolldown({
    input: { ...entries },
    platform: 'node',
    external: (id) => {
      if (builtinModules.includes(id.replace(/^node:/, ''))) return true
      return /^[@\w]/.test(id) && isExternal(packageOf(id))
    },
    plugins: [{ name: 'locate', resolveId: (id) => locate(id) }],
    // What zod sets up when it is loaded, such as the language of its messages, is needed although it says that it has no side effects.
    treeshake: {
      moduleSideEffects: (id) => id.includes(`${sep}node_modules${sep}`) || extendsZod.test(id),
    },
    // How long a build took says nothing of the bundle: a crowded machine is slow.
    checks: { bundlerTimings: false },
    onLog: (_level, { message }) => {
      throw new Error(message)
    },
  })
  const { output } = await bundle.write({
    dir: to,
    format: 'esm',
    codeSplitting: split,
    entryFileNames: '[name].js',
    // Beside the entries: what a module finds by `import.meta.url` it finds from every part.
    chunkFileNames: '[name]-[hash].js',
    minify: false,
    comments: { legal: true, annotation: true, jsdoc: false },
  })
  await bundle.close()
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  return modules.filter((id) => id.includes(`${sep}node_modules${sep}`)).map(rootOf)
}

/** The licences of the packages in `folders`, whose code is part of the bundles. */
export function licencesOf(folders: readonly string[]): string {
  const texts = [...new Set(folders)].toSorted().map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<
      string,
      string
    >
    const file = ['LICENSE', 'LICENSE.md', 'license']
      .map((it) => join(folder, it))
      .find((it) => existsSync(it))
    if (file === undefined) throw new Error(`${name} is part of a bundle, but has no licence file`)
    return `${name} ${version}\n\n${readFileSync(file, 'utf8').trim()}\n`
  })
  return texts.join('\n---\n\n')
}

/** The package that an import names. */
export function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function rootOf(file: string): string {
  const [last = ''] = file.split(`${sep}node_modules${sep}`).slice(-1)
  const end = `${sep}node_modules${sep}${packageOf(last.split(sep).join('/')).split('/').join(sep)}`
  let folder = dirname(file)
  while (!folder.endsWith(end)) folder = dirname(folder)
  return folder
}

/** The server's module that adds a method to the schemas of zod: nobody imports more than zod from it. */
const extendsZod = /[\\/]wire[\\/]zod\.[jt]s$/
