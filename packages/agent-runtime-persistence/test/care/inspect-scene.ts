import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { inspectStore, openStore } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

export const inspect = (path: string) => inspectStore(`sqlite:${path}`)

export const submission = { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] } as const

/** A closed store of its own boot, with three tasks, that only its user may read. */
export async function closed(): Promise<string> {
  const path = join(scratchFolder(), 'it.db')
  const store = await openStore(`sqlite:${path}`, { thread: false })
  for (let n = 0; n < 3; n++) await store.write(submission)
  await store.close()
  for (const suffix of ['', '-anchor']) chmodSync(path + suffix, 0o600)
  return path
}
