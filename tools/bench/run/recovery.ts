import { nothing } from '../system.ts'
import { clock, type Figures, type Role } from './messages.ts'
import { within, type Seat } from './seat.ts'

type Of<R extends Role['role']> = Extract<Role, { role: R }>

/** Begins tasks that do not end. The process is killed in the middle of them. */
export async function hang({ open, place, say }: Seat, { count }: Of<'hang'>): Promise<Figures> {
  const forever = new Promise<void>(() => undefined)
  const run = (task: number) => {
    void say({ said: 'began', task, at: clock() })
    return forever
  }
  const connection = await open({ place, job: { ...nothing, run }, atOnce: count })
  await connection.start()
  await Promise.all(Array.from({ length: count }, (_, task) => connection.submit(task)))
  setInterval(() => undefined, 60_000)
  await forever
  return {}
}

/** Says when each task began, until all of them have. */
export async function begin(
  { open, place, say }: Seat,
  { count, submits, limitMs }: Of<'begin'>,
): Promise<Figures> {
  const begun = new Set<number>()
  let finish: () => void = () => undefined
  const all = new Promise<void>((done) => {
    finish = done
  })
  const run = (task: number) => {
    if (begun.has(task)) return
    begun.add(task)
    void say({ said: 'began', task, at: clock() })
    if (begun.size === count) finish()
  }
  const connection = await open({ place, job: { ...nothing, run }, atOnce: Math.max(count, 20) })
  await connection.start()
  if (submits) for (let task = 0; task < count; task += 1) await connection.submit(task)
  await within(limitMs, all)
  await within(5_000, connection.close())
  return { begun: begun.size }
}
