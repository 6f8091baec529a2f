// The task: it surveys the sources of one package of this repository, in four steps.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

/** Who looks on: told when a step begins, which waits for that, and when it is done. */
export interface Watch {
  begins(name: string, key: string): Promise<void>
  done(): void
}

export function surveyTask(watch: Watch) {
  return defineTask({ type: 'survey', input: z.object({ name: z.string() }) }, async (ctx, { name }) => {
    /** Tells of itself, takes its time, and may be the last that this process gets done. */
    const step = async <T>(key: string, work: () => T): Promise<T> => {
      const result = await ctx.step(key, async () => {
        await watch.begins(name, key)
        return work()
      })
      watch.done()
      return result
    }
    const folder = resolve(import.meta.dirname, '../../../packages', name, 'src')
    const files = await step('list files', () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .toSorted(),
    )
    const texts = files.map((file) => readFileSync(join(folder, file), 'utf8'))
    const lines = await step('count lines', () => texts.join('').split('\n').length)
    const longest = await step('find the longest', () => longestOf(files, texts))
    const sha256 = await step('hash', () => createHash('sha256').update(texts.join('')).digest('hex'))
    return { files: files.length, lines, longest, sha256: sha256.slice(0, 12) }
  })
}

function longestOf(files: readonly string[], texts: readonly string[]): string | undefined {
  const lengths = texts.map((text) => text.length)
  return files[lengths.indexOf(Math.max(...lengths))]
}
