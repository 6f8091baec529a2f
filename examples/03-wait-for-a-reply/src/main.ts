// Three processes' worth of life on one database, one after the other: the agent asks, a person answers, the agent goes on.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from '@ku0/agent-runtime'
import { offer } from './offer.ts'

const place = mkdtempSync(join(tmpdir(), 'wait-for-a-reply-'))
const store = `sqlite:${join(place, 'offers.db')}`
try {
  console.log('Monday: the agent writes an offer, and waits.')
  const monday = await createRuntime({ store, tasks: [offer], logger: false })
  const receipt = await monday.submit(offer, { customer: 'Ada' })
  for await (const { type } of monday.events(receipt)) if (type === 'task.waiting') break
  const { running, waiting } = await monday.stats()
  console.log(`  ${waiting} task waits, ${running} run; the program ends.`)
  await monday.stop()

  console.log('Tuesday: somebody answers, in a program that runs no tasks.')
  const desk = await createRuntime({ store, tasks: [offer], workers: 0, logger: false })
  console.log(`  ${(await desk.explain(receipt))?.summary}`)
  await desk.signal(receipt, 'reply', { approve: true, by: 'Grace' })
  await desk.stop()

  console.log('Wednesday: the agent is started again, and goes on where it was.')
  const wednesday = await createRuntime({ store, tasks: [offer], logger: false })
  console.log(`  ${await wednesday.result(receipt)}`)
  await wednesday.stop()
} finally {
  rmSync(place, { recursive: true, force: true })
}
