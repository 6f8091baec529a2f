import { registerHooks } from 'node:module'

const mark = 'anew'
let rounds = 0
let isHooked = false

/**
 * Imports a module, and the files that it imports by a path, as they are now: Node keeps what it has loaded, by its URL, so each round
 * has URLs of its own. Packages are imported by a name, and stay as they are.
 */
export async function importAnew(url: string): Promise<unknown> {
  if (!isHooked) {
    isHooked = true
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context)
        const round = roundOf(context.parentURL)
        const isImported = context.conditions.includes('import') && found.format !== 'commonjs'
        if (round === null || !isImported || !/^(?:\.|\/|#|file:)/.test(specifier)) return found
        return { ...found, url: marked(found.url, round) }
      },
    })
  }
  rounds += 1
  return import(marked(url, String(rounds)))
}

/** The round that loaded a module; also one that it imports much later belongs to it. */
function roundOf(url: string | undefined): string | null {
  return url !== undefined && URL.canParse(url) ? new URL(url).searchParams.get(mark) : null
}

function marked(url: string, round: string): string {
  const it = new URL(url)
  if (it.protocol === 'file:') it.searchParams.set(mark, round)
  return it.href
}
