import { expect, test } from 'vitest'
import { OwnStore } from '../helpers/own-store.ts'

/** More than the store keeps of one stream between flushes. */
const long = 700
const limits = { queueDepthLimit: 10_000, batchBackpressureThreshold: 10_000 }

test('3.3 a queue that is longer than what is kept of it stays in order, whatever is submitted and canceled', async () => {
  const own = await OwnStore.open(':memory:', limits)
  // Its slots are taken by the first tasks meanwhile, and what is kept of the queue is not read again.
  await own.worker('w', 20)
  const ids = [...(await own.submit(long))]
  const cancel = (place: number) => own.store.write({ kind: 'cancel', taskId: ids[place] ?? '' })
  const canceled = new Set([20, 21, 300, 511, 512, 531, 532, 533, 699, 702])
  // Alone behind the known part, then together with changes at its start, in it, at its end and behind it.
  for (let n = 0; n < 3; n++) ids.push(...(await own.submit(1)))
  for (const place of canceled) {
    const [more] = await Promise.all([own.submit(2), cancel(place)])
    ids.push(...more, ...(await own.submit(1)))
  }
  const started: string[] = []
  const expected = ids.filter((_, place) => !canceled.has(place))
  while (started.length < expected.length) {
    await own.until(() => own.claims.length > 0, 'a claim')
    const given = own.claims.splice(0)
    started.push(...given.map(({ taskId }) => taskId))
    await Promise.all(given.map((claim) => own.complete(claim)))
  }
  expect(started).toEqual(expected)
  // A row that was kept and is no longer so would fail a flush, which begins again with nothing kept.
  expect(await own.store.read({ kind: 'stats' })).toMatchObject({ repeatedFlushes: 0 })
})
