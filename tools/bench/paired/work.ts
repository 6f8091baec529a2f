// One turn of one of two revisions, in a process of its own: prints the CPU seconds that each workload took.
//
//   node tools/bench/paired/work.ts FOLDER rates|start ENTRY
import { cpuSeconds } from '../run/seat.ts'
import { counted, measured, submitAll } from '../smoke/side.ts'
import { ku0 } from '../systems/ku0.ts'

/** By workload, in seconds. */
export type Cpu = Readonly<Record<string, number>>

/** Tasks that are submitted at once and drained, others with ten steps each, and those of which each waits for the one before. */
const [warm, short, stepped, single] = [1_000, 6_000, 1_000, 1_000]
/** The first tasks with steps compile what only steps need, which is no cost of a step: so many run before those that are measured. */
const withSteps = 2 * stepped
const [folder = '', what = '', entry = ''] = process.argv.slice(2)

const figures = what === 'start' ? await started() : await rates()
console.log(JSON.stringify(figures))
process.exit(0)

/** From the start of the process to its first task's end and its stop. */
async function started(): Promise<Cpu> {
  const first = counted(1)
  const connection = await ku0(
    entry,
    'full',
  )({
    place: { folder, url: '' },
    job: { steps: () => 0, run: () => undefined, ended: () => first.ended() },
  })
  await connection.start()
  await connection.submit(0)
  await first.reached
  await connection.close()
  return { start: cpuSeconds() }
}

async function rates(): Promise<Cpu> {
  const [drained, warmed, allSteps] = [counted(short), counted(short + stepped), counted(short + withSteps)]
  let ended: () => void = () => undefined
  const connection = await ku0(
    entry,
    'full',
  )({
    place: { folder, url: '' },
    job: {
      steps: (task) => (task < short || task >= short + withSteps ? 0 : 10),
      run: () => undefined,
      ended: () => {
        for (const phase of [drained, warmed, allSteps]) phase.ended()
        ended()
      },
    },
  })
  await submitAll(connection, 0, warm)
  const submit = await measured(() => submitAll(connection, warm, short))
  const drain = await measured(async () => {
    await connection.start()
    await drained.reached
  })
  await submitAll(connection, short, short + stepped)
  await warmed.reached
  const steps = await measured(async () => {
    await submitAll(connection, short + stepped, short + withSteps)
    await allSteps.reached
  })
  const pickUp = await measured(async () => {
    for (let task = short + withSteps; task < short + withSteps + single; task += 1) {
      const end = new Promise<void>((done) => {
        ended = done
      })
      await connection.submit(task)
      await end
    }
  })
  await connection.close()
  return { submit, drain, steps, 'pick-up': pickUp }
}
