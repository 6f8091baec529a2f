import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { RuntimeError } from '@ku0/agent-runtime-core'
import { whyNotLoaded } from '../why-not-loaded.ts'
import type { CliConfig } from './define-config.ts'

const names = ['ts', 'mts', 'js', 'mjs'].map((ending) => `agent-runtime.config.${ending}`)

/** The file that was named, or the nearest one from the folder upward. Undefined if there is none. */
export function findConfig(folder: string, named: string | undefined): string | undefined {
  if (named !== undefined) {
    const file = resolve(folder, named)
    if (existsSync(file)) return file
    throw new RuntimeError('not_found', `there is no configuration file at ${file}`)
  }
  for (let at = resolve(folder); ; at = dirname(at)) {
    const file = names.map((name) => join(at, name)).find((path) => existsSync(path))
    if (file !== undefined || dirname(at) === at) return file
  }
}

/** The checked content of a configuration file. */
export async function loadConfig(file: string): Promise<CliConfig> {
  let module: { readonly default?: unknown }
  try {
    module = (await import(pathToFileURL(file).href)) as typeof module
  } catch (error) {
    throw new RuntimeError('invalid_config', `${file} could not be loaded: ${whyNotLoaded(error)}`, {
      cause: error,
    })
  }
  const { assertConfig } = await import('./check-config.ts')
  return assertConfig(module.default, file)
}
