import type { Lane, QueuePause, WaitCount } from '@ku0/agent-runtime-core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useMayOperate } from '../server/info.ts'
import { useLiveQuery } from '../server/live.tsx'
import { api } from '../server/session.ts'
import { useAct } from '../ui/act.tsx'
import { Asked } from '../ui/asked.tsx'
import { CopyAs } from '../ui/copy.tsx'
import { Empty } from '../ui/empty.tsx'
import { amount, count, duration } from '../ui/format.ts'
import { When } from '../ui/now.tsx'
import { Page } from '../ui/page.tsx'
import { FormDialog, useQuestion } from '../ui/question.tsx'
import { Table } from '../ui/table.tsx'
import { words } from './tasks/filter.ts'
import { lanes } from './tasks/names.ts'

/** Why tasks wait. */
export function QueuePage() {
  const why = useLiveQuery(['queue'], () => api().explainQueue())
  const stats = useLiveQuery(['queue stats'], () => api().stats())
  return (
    <Page
      title="Why do tasks wait?"
      beside={
        <>
          <PauseButton />
          <CopyAs path="/queue" call="explainQueue()" json={why.data} />
        </>
      }
    >
      <Asked query={stats} what="the counters of the store">
        {({ depth: byLane, delayed, paused }) => (
          <>
            <p className="lanes">
              {Object.entries(byLane).map(([lane, depth]) => (
                <Link key={lane} to="/tasks" search={{ states: 'queued', lanes: lane }}>
                  {lane} <strong>{count(depth)}</strong>
                </Link>
              ))}
              <span className="faint">for later {count(delayed)}</span>
            </p>
            <Pauses paused={paused} />
          </>
        )}
      </Asked>
      <Asked query={why} what="the queue">
        {({ queued, waiting, reasons }) =>
          reasons.length === 0 ? (
            <Empty title="No task waits">
              <p>Whatever is submitted now starts at once, if a worker runs its type.</p>
            </Empty>
          ) : (
            <>
              <p>
                Queued: {count(queued)}. Started, and waiting: {count(waiting)}.
              </p>
              <Table
                caption="Why tasks wait"
                rows={reasons}
                keyOf={({ reason, state }) => `${reason} ${state}`}
                columns={[
                  { name: 'They wait for', show: ({ reason }) => sentence(reason) },
                  { name: 'Tasks', show: ({ count: many }) => count(many), isNumber: true },
                  { name: 'State', show: ({ state }) => state },
                  {
                    name: 'The oldest',
                    show: ({ oldest }) => (
                      <Link
                        to="/tasks/$taskId"
                        params={{ taskId: oldest.taskId }}
                        search={{ show: 'explain' }}
                        data-row
                      >
                        {duration(oldest.ageMs)} old
                      </Link>
                    ),
                  },
                ]}
              />
              <WithoutCredits clients={reasons.flatMap(({ clients = [] }) => clients)} />
            </>
          )
        }
      </Asked>
    </Page>
  )
}

/** The clients whose tasks wait for credits, and how many are missing. */
function WithoutCredits({ clients }: Required<Pick<WaitCount, 'clients'>>) {
  if (clients.length === 0) return null
  return (
    <>
      <h2>Clients without enough credits</h2>
      <Table
        caption="Clients without enough credits"
        rows={clients}
        keyOf={({ client }) => client}
        columns={[
          {
            name: 'Client',
            show: ({ client }) => (
              <Link to="/tasks" search={{ client, states: 'queued' }} data-row>
                {client}
              </Link>
            ),
          },
          { name: 'Tasks', show: ({ count: many }) => count(many), isNumber: true },
          { name: 'It has', show: ({ credits }) => amount(credits), isNumber: true },
          { name: 'The next task needs', show: ({ asked }) => amount(asked), isNumber: true },
          { name: 'Missing', show: ({ missing }) => amount(missing), isNumber: true },
        ]}
      />
    </>
  )
}

const sentences: Readonly<Record<string, string>> = {
  delay: 'their time: they were submitted for later',
  slot: 'a free slot, and nothing else',
  worker: 'a worker that runs their type: none is alive',
  paused: 'the end of a pause of their type or lane',
  credits: 'credits: their clients have too few for them',
  suspect: 'another task that crashed workers to run first, alone',
  approval: 'a verdict',
  signal: 'a signal',
  timer: 'a timer',
  children: 'their children',
  budget: 'an answer, since their budget asks',
  divergence: 'somebody, since their code took another path than their history',
}

function sentence(reason: string): string {
  if (reason.startsWith('quota:')) return `room in the quota ${reason.slice('quota:'.length)}`
  return sentences[reason] ?? reason
}

/** The task types and lanes of which nothing is started. */
function Pauses({ paused }: { readonly paused: readonly QueuePause[] }) {
  const { isBusy, act } = useAct()
  const mayOperate = useMayOperate()
  if (paused.length === 0) return null
  return (
    <ul className="plain pauses" aria-label="Paused">
      {paused.map((pause) => {
        const name = 'type' in pause ? `the task type ${pause.type}` : `the lane ${pause.lane}`
        const resume = async () => {
          await api().resumeQueue('type' in pause ? { types: [pause.type] } : { lanes: [pause.lane] })
          return `Tasks of ${name} are started again`
        }
        return (
          <li key={name} className="row wrap">
            <span className="held">
              ‖ No task of {name} is started, since <When at={pause.since} />
            </span>
            {mayOperate ? (
              <button type="button" disabled={isBusy} onClick={() => void act(resume)}>
                Resume<span className="hidden"> {name}</span>
              </button>
            ) : null}
          </li>
        )
      })}
    </ul>
  )
}

/** Asks which task types and lanes to pause. */
function PauseButton() {
  const question = useQuestion()
  const [types, setTypes] = useState('')
  const [chosen, setChosen] = useState<readonly Lane[]>([])
  const mayOperate = useMayOperate()
  if (!mayOperate) return null
  const isNothing = words(types).length === 0 && chosen.length === 0
  const pause = async () => {
    const changed = await api().pauseQueue({ types: words(types), lanes: chosen })
    return changed === 0 ? 'They were paused already' : 'None of these tasks is started until you resume them'
  }
  return (
    <>
      <button type="button" onClick={question.open}>
        Pause…
      </button>
      {question.isOpen ? (
        <FormDialog
          question={question}
          title="Start no more tasks of"
          submit="Pause"
          isDisabled={isNothing}
          action={pause}
        >
          <label className="field">
            <span>Task types, separated by commas</span>
            <input autoFocus value={types} onChange={({ target }) => setTypes(target.value)} />
          </label>
          <fieldset className="choice">
            <legend>Lanes</legend>
            {lanes.map((lane) => (
              <label key={lane} className="check">
                <input
                  type="checkbox"
                  checked={chosen.includes(lane)}
                  onChange={({ target }) =>
                    setChosen(target.checked ? [...chosen, lane] : chosen.filter((it) => it !== lane))
                  }
                />{' '}
                {lane}
              </label>
            ))}
          </fieldset>
          <p className="faint">Tasks that run go on. Those that are submitted meanwhile are queued.</p>
        </FormDialog>
      ) : null}
    </>
  )
}
