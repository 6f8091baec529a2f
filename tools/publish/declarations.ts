import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { packageOf } from './bundle.ts'

const specifiers = /(?<=\bfrom\s*|\bimport\s*\(\s*|^import\s+)(['"])([^'"\n]+)\1/gm

/** A declaration, and where it goes. */
interface Copy {
  readonly file: string
  readonly target: string
}

/**
 * Copies the declarations that `entries` reach below `from` to `to`, and no others: what is not reached tells a user nothing. The declarations of packages whose code is in the
 * bundles go with them, since nobody installs those; `isExternal` says which packages are installed.
 */
export function copyDeclarations(
  entries: readonly string[],
  from: string,
  to: string,
  isExternal: (name: string) => boolean,
): void {
  const require = createRequire(join(from, 'any.js'))
  const copies = new Map<string, Copy>()
  for (const entry of entries) add({ file: join(from, entry), target: entry })
  // The map grows while it is read.
  for (const copy of copies.values()) write(copy)

  function add(copy: Copy): Copy {
    if (!existsSync(copy.file)) throw new Error(`${copy.file} does not exist; run "tsc -b" first`)
    if (!copies.has(copy.file)) copies.set(copy.file, copy)
    return copies.get(copy.file) ?? copy
  }

  function write({ file, target }: Copy): void {
    const text = readFileSync(file, 'utf8').replaceAll(
      specifiers,
      (all, quote: string, specifier: string) => {
        const found = resolved({ file, target }, specifier)
        if (found === undefined) return all
        const path = relative(dirname(target), add(found).target).split(sep).join('/')
        return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`.replace(
          /\.d\.ts(?=['"]$)/,
          '.js',
        )
      },
    )
    mkdirSync(dirname(join(to, target)), { recursive: true })
    writeFileSync(join(to, target), text)
  }

  /** The declaration behind an import; undefined for a package that is installed. */
  function resolved({ file, target }: Copy, specifier: string): Copy | undefined {
    if (specifier.startsWith('.')) {
      const found = declared(join(dirname(file), specifier))
      return { file: found, target: join(dirname(target), relative(dirname(file), found)) }
    }
    const name = packageOf(specifier)
    if (specifier.startsWith('node:') || isExternal(name)) return undefined
    const root = dirname(require.resolve(`${name}/package.json`))
    const found = declared(require.resolve(specifier))
    return { file: found, target: join(name, relative(root, found)) }
  }
}

function declared(module: string): string {
  return module.replace(/(?:\.d)?\.[cm]?[jt]s$/, '.d.ts')
}
