import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { UsageError } from '../cli/exit-code.ts'

/** The runs that a file of `--keep` holds: none where there is no file; undefined where it holds something else. */
export function keptIn<T>(path: string, run: z.ZodType<T>): readonly T[] | undefined {
  if (!existsSync(path)) return []
  try {
    return z.array(run).parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return undefined
  }
}

/** What is played for hours is not lost for want of a folder. Throws {@link UsageError}. */
export function assertKeepable(file: string): void {
  try {
    accessSync(existsSync(file) ? file : dirname(resolve(file)), constants.W_OK)
  } catch {
    throw new UsageError(`--keep: ${file} cannot be written; name a file in a folder that there is`)
  }
}
