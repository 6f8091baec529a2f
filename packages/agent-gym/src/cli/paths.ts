import { existsSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'

/**
 * Where relative paths of the command line may be meant from, in order: the folder the user called from (`INIT_CWD`, which
 * pnpm sets before it enters the package), the working folder, the workspace root. Source: `docs/semantics.md` C19.
 */
export function pathBases(env: NodeJS.ProcessEnv, cwd: string): readonly string[] {
  const bases = [env['INIT_CWD'], cwd, workspaceRoot(cwd)]
  return [...new Set(bases.filter((base): base is string => base !== undefined && base !== ''))]
}

/**
 * The absolute path that is meant: from the base under which most of the path exists already, the earlier base on a tie. So a
 * report goes into the folder that is there, even when the file is not.
 */
export function resolvePath(
  path: string,
  bases: readonly string[],
  exists: (path: string) => boolean = existsSync,
): string {
  if (isAbsolute(path)) return path
  const candidates = bases.map((base) => resolve(base, path))
  const missing = candidates.map((candidate) => missingParts(candidate, exists))
  const best = Math.min(...missing)
  return candidates[missing.indexOf(best)] ?? resolve(path)
}

/** The nearest folder upwards that holds a `pnpm-workspace.yaml`; undefined outside a workspace. */
export function workspaceRoot(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(resolve(folder, 'pnpm-workspace.yaml'))) return folder
    if (dirname(folder) === folder) return undefined
  }
}

function missingParts(path: string, exists: (path: string) => boolean): number {
  let missing = 0
  for (let part = path; !exists(part) && dirname(part) !== part; part = dirname(part)) missing += 1
  return missing
}
