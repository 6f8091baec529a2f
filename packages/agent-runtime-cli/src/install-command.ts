import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

const name = '@ku0/agent-runtime-cli'

/**
 * The command that installs the packages of a new project. A program that was installed from packed files has no registry that knows its
 * packages: then the new project needs these files, too. `from`: a file of this program.
 */
export function installCommand(from: string): string {
  const packed = packedFolder(from)
  return packed === undefined ? 'npm install' : `npm install ${join(packed, '*.tgz')}`
}

/** The folder of the packed files that npm has installed this program from. */
function packedFolder(from: string): string | undefined {
  let modules = dirname(from)
  while (basename(modules) !== 'node_modules' && dirname(modules) !== modules) modules = dirname(modules)
  try {
    const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as Lock
    const { resolved = '' } = packages[`node_modules/${name}`] ?? {}
    const [, file] = /^file:(.+\.tgz)$/.exec(resolved) ?? []
    return file === undefined ? undefined : dirname(resolve(dirname(modules), file))
  } catch {
    // Another package manager, or a clone.
    return undefined
  }
}

/** The lock file that npm writes into `node_modules`, as far as it is read here. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly resolved?: string } | undefined>>
}
