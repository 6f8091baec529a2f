import { relative, resolve } from 'node:path'
import type { Plugin } from 'vitest/config'
import type { Mutant } from './list.ts'

const workspace = resolve(import.meta.dirname, '../..')

/** Runs tests on sources with the edits of the mutant that is planted, if one is. Nothing is written; what runs in a thread or process of its own is not changed. */
export function mutating(planted: () => Mutant | undefined): Plugin {
  return {
    name: 'mutant',
    enforce: 'pre',
    transform(code, id) {
      const mutant = planted()
      if (mutant === undefined || relative(workspace, id.split('?')[0] ?? id) !== mutant.file)
        return undefined
      return mutant.edits.reduce((text, [find, replace]) => edited(text, find, replace, mutant.name), code)
    },
  }
}

/** Throws where the source is not what the mutant was made for. */
export function edited(text: string, find: string, replace: string, name: string): string {
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`mutant '${name}': ${count} places like ${JSON.stringify(find)}, not one`)
  return text.replace(find, () => replace)
}
