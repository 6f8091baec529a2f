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
  const drained = counted(short)
  const all = counted(short + stepped)
  let ended: () => void = () => undefined
  const connection = await ku0(
    entry,
    'full',
  )({
    place: { folder, url: '' },
    job: {
      steps: (task) => (task < short || task >= short + stepped ? 0 : 10),
      run: () => undefined,
      ended: () => {
        drained.ended()
        all.ended()
        ended()
      },
    },
  })
  await submitAll(connection, 0, warm)
  const submit = await measured(() => submitAll(connection, warm, short))
  await submitAll(connection, short, short + stepped)
  const drain = await measured(async () => {
    await connection.start()
    await drained.reached
  })
  const steps = await measured(() => all.reached)
  const pickUp = await measured(async () => {
    for (let task = short + stepped; task < short + stepped + single; task += 1) {
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
