// An order is in flight while its code changes twice: once in a way that it does not fit, once in a way that it does.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkDeploy, createRuntime, type Runtime, type TaskDefinition } from '@ku0/agent-runtime'
import { careful, careless, first } from './order.ts'

const place = mkdtempSync(join(tmpdir(), 'change-code-'))
const store = `sqlite:${join(place, 'orders.db')}`
const deploy = (task: TaskDefinition) => createRuntime({ store, tasks: [task], logger: false })
try {
  console.log('Monday: an order is charged, and waits until it is packed.')
  const monday = await deploy(first)
  const lamp = await monday.submit(first, { item: 'lamp' })
  await untilItWaitsFor(monday, lamp.taskId, 'signal')
  await monday.stop()

  console.log('Tuesday: the code gets a check before the charge. Would it fit?')
  await tell(careless)
  console.log('It is deployed all the same, and the order comes back to it:')
  const tuesday = await deploy(careless)
  await tuesday.signal(lamp, 'packed')
  await untilItWaitsFor(tuesday, lamp.taskId, 'divergence')
  console.log(`  order: ${(await tuesday.explain(lamp))?.summary}`)
  await tuesday.stop()

  console.log('Wednesday: the check is for orders that are not past it.')
  await tell(careful)
  const wednesday = await deploy(careful)
  await wednesday.resume(lamp)
  console.log(`  order of the lamp: ${await wednesday.result(lamp)}`)
  const desk = await wednesday.submit(careful, { item: 'desk' })
  await wednesday.signal(desk, 'packed')
  console.log(`  order of the desk: ${await wednesday.result(desk)}`)
  await wednesday.stop()
} finally {
  rmSync(place, { recursive: true, force: true })
}

/** What a deploy script would look at; it would exit with 1 unless the report is ok. */
async function tell(task: TaskDefinition): Promise<void> {
  const { ok, checked, agreed, diverged } = await checkDeploy({ store, tasks: [task] })
  console.log(
    `  check: ${agreed} of ${checked} orders in flight agree: ${ok ? 'deploy it' : 'do not deploy it'}`,
  )
  for (const { divergence } of diverged)
    console.log(`  check: the code calls '${divergence.actual}' where '${divergence.expected}' was recorded`)
}

/** Reads the events of a task until it waits for this. */
async function untilItWaitsFor(runtime: Runtime, taskId: string, reason: string): Promise<void> {
  for await (const { type, data } of runtime.events(taskId))
    if (type === 'task.waiting' && data.reason === reason) return
}
