// Runs tasks through a store that keeps few of them, and shows how large the store is on the way: it must not grow with what has gone.
//
//   pnpm retention [--tasks 3000000] [--kept 100000] [--samples 30] [--store sqlite|postgres|URL] [--json]
//
// The size at the end is held against that after a sixth of the tasks. It ends with 1 where it is more than 1.3 times as large, or `verify` finds a fault.
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { retained } from '../retention/retained.ts'

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '3000000' },
    kept: { type: 'string', default: '100000' },
    samples: { type: 'string', default: '30' },
    store: { type: 'string', default: 'sqlite' },
    json: { type: 'boolean', default: false },
  },
})
if (values.store !== 'sqlite' && !/^postgres(?::|$)/.test(values.store))
  throw new Error(`--store: '${values.store}' is neither sqlite, nor postgres, nor the URL of a server`)
const plan = {
  tasks: Number(values.tasks),
  kept: Number(values.kept),
  samples: Number(values.samples),
  store: values.store,
}
const found = await retained(plan, ({ ended, left, bytes, deadRows, worst, seconds }) => {
  const dead = deadRows === undefined ? '' : `, ${deadRows} dead rows (${worst})`
  console.error(
    `${ended} tasks in ${seconds.toFixed(0)} s, ${left} left, ${(bytes / 1e6).toFixed(1)} MB${dead}, load ${loadavg()[0]?.toFixed(1)}`,
  )
})
if (values.json) console.log(JSON.stringify(found, undefined, 2))
console.log(
  `${plan.tasks} tasks, ${plan.kept} kept: ${found.growth.toFixed(2)} times the size after a sixth, ${found.cpuSeconds.toFixed(0)} s of processor time, ${found.faults} faults in ${found.verifiedTasks} tasks`,
)
if (found.growth > 1.3 || found.faults > 0) process.exitCode = 1
