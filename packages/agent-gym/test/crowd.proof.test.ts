import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import { expect, test } from 'vitest'
import { draws } from '../../../tools/draws.ts'
import { crowd } from '../src/crowd/crowd.ts'
import { openStorePlace } from '../src/place/store-place.ts'

test.each([
  // Fifty take five minutes on two cores, and leases of theirs run out: docs/operating.md.
  ['sqlite', draws(3, 6, 16)],
  ['postgres', draws(3, 6, 16)],
] as const)(
  'a crowd of processes on one store (%s): each task runs once, and every process has its part',
  async (kind, processes) => {
    const folder = mkdtempSync(join(tmpdir(), 'crowd-'))
    const place = await openStorePlace(kind, undefined)
    try {
      const store = place.newStore(folder)
      const each = 20
      const found = await crowd(store, processes, each)
      expect(found).toMatchObject({ completed: processes * each, repeated: 0 })
      expect(found.named).toEqual(found.ran)
      expect(Math.min(...found.named)).toBeGreaterThan(0)
      expect(found.fairness).toBeGreaterThan(0.7)
      expect(await verifyStore(store)).toMatchObject({ ok: true, tasks: processes * each })
    } finally {
      await place.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
