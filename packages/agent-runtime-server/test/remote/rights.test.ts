import { createWorker, defineTask } from '@ku0/agent-runtime'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openLine } from '@ku0/agent-runtime-persistence/lines'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { systemEnvironment } from '../../../agent-runtime-persistence/src/system.ts'
import type { Scope } from '../../src/index.ts'
import { quietLine, storeOverLine } from './memory-line.ts'

const { config } = parseExecutionConfig({ retention: { completed: { ageMs: 1_000 }, everyMs: 1_000 } })

/** A store that has rules of retention, over a line whose token has these scopes. */
async function lineWith(...scopes: readonly Scope[]) {
  const { digest } = systemEnvironment()
  const environment = createVirtualEnvironment('rights', { digest })
  const { lines, behind } = await storeOverLine(config, environment)
  onTestFinished(() => behind.close())
  const caller = { name: 'it', scopes: new Set(scopes) }
  return { ...(await openLine('http://localhost', environment, lines.dialAs(caller))), lines, environment }
}

test('a line prunes with the scope that a prune over HTTP needs', async () => {
  const prune = { kind: 'prune', after: 0, dryRun: false } as const
  const operator = await lineWith('work', 'read', 'submit', 'operate')
  const refused = { code: 'line_refused', message: expect.stringContaining('the scope admin') as string }
  await expect(operator.store.write(prune)).rejects.toMatchObject(refused)
  await expect(operator.store.write({ kind: 'foldLedger', until: 0 })).rejects.toMatchObject(refused)
  const admin = await lineWith('admin')
  expect(await admin.store.write(prune)).toMatchObject({ pruned: { completed: 0 } })
})

test('a worker whose token may not prune leaves that to the server, and says nothing of it', async () => {
  const { store, line, lines, environment } = await lineWith('work')
  const log: string[] = []
  const write = (_: object, message: string) => void log.push(message)
  const worker = await createWorker({
    store,
    tasks: [defineTask({ type: 'work', input: z.null() }, () => null)],
    config,
    environment,
    telemetry: false,
    logger: { debug: write, info: write, warn: write, error: write },
  })
  onTestFinished(async () => void (await worker.stop({ drain: false })))
  const { clock } = environment
  for (let until = clock.now() + 5_000; clock.now() < until;) {
    clock.advanceBy(100)
    await quietLine({ line, lines })
  }
  expect(lines.passed.filter((frame) => frame.startsWith('up') && frame.includes('"prune"'))).toHaveLength(1)
  expect(log.filter((message) => message.includes('retention'))).toEqual([])
})
