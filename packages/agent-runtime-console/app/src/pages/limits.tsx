import type { BudgetRecord, ClientRecord, QuotaState } from '@ku0/agent-runtime-core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask } from '../server/ask.ts'
import { useMayOperate } from '../server/info.ts'
import { useLivePages } from '../server/live-pages.ts'
import { useLiveQuery } from '../server/live.tsx'
import { api } from '../server/session.ts'
import { Asked } from '../ui/asked.tsx'
import { CopyAs } from '../ui/copy.tsx'
import { Empty } from '../ui/empty.tsx'
import { amount, count, duration, many, shortId } from '../ui/format.ts'
import { More } from '../ui/more.tsx'
import { When } from '../ui/now.tsx'
import { Page } from '../ui/page.tsx'
import { Confirmed, FormDialog, useQuestion } from '../ui/question.tsx'
import { State } from '../ui/state.tsx'
import { RowLink, Table } from '../ui/table.tsx'

const PAGE = 100

/** Budgets that ask, quotas, shares and circuits. */
export function LimitsPage() {
  const budgets = useLivePages(['budgets'], async (cursor) => {
    const page = await api().budgets.list({ limit: PAGE, cursor })
    return { rows: page.budgets, cursor: page.cursor }
  })
  const quotas = useLiveQuery(['quotas'], () => api().quotas())
  const clients = useLivePages(['clients'], async (after) => {
    const rows = await api().clients.list({ limit: PAGE, after })
    return { rows, cursor: rows.length === PAGE ? rows.at(-1)?.name : undefined }
  })
  const routes = useLiveQuery(['routes'], () => ask<{ routes: Route[] }>('GET', '/routes'), { isSlow: true })
  return (
    <Page
      title="Limits"
      beside={
        <CopyAs
          path={['/budgets', '/quotas', '/clients', '/routes']}
          call={['budgets.list()', 'quotas()', 'clients.list()', 'routes()']}
          json={{
            budgets: budgets.data,
            quotas: quotas.data,
            clients: clients.data,
            routes: routes.data?.routes,
          }}
        />
      }
    >
      <h2>Budgets that ask</h2>
      <Asked query={budgets} what="the budgets">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No budget asks">
              <p>
                Tasks stop when they pass the soft line of their budget. The budget stands here until somebody
                answers.
              </p>
            </Empty>
          ) : (
            <Table
              caption="Budgets that ask"
              rows={all}
              keyOf={({ taskId }) => taskId}
              columns={budgetColumns}
            />
          )
        }
      </Asked>
      <More pages={budgets} what="budgets" />
      <h2>Quotas</h2>
      <Asked query={quotas} what="the quotas">
        {(all) =>
          all.length === 0 ? (
            <p className="faint">
              Nothing was counted for a quota. Set limits for models, tools, clients and labels in the
              configuration of the runtime; a quota stands here once a task counts for it.
            </p>
          ) : (
            <Table caption="Quotas" rows={all} keyOf={({ key }) => key} columns={quotaColumns} />
          )
        }
      </Asked>
      <h2>Shares of clients</h2>
      <Asked query={clients} what="the clients">
        {(all) =>
          all.length === 0 ? (
            <p className="faint">
              No client has a share or credits. Set shares in the configuration of the runtime; a client with
              a record stands here.
            </p>
          ) : (
            <Table caption="Clients" rows={all} keyOf={({ name }) => name} columns={clientColumns} />
          )
        }
      </Asked>
      <More pages={clients} what="clients" />
      <h2>Circuits</h2>
      <Asked query={routes} what="the circuits">
        {({ routes: all }) =>
          all.length === 0 ? (
            <p className="faint">
              No route has a problem. A route is a task type whose work has a profile: work that breaks its
              limits or falls silent opens its circuit, and new tasks of the type are refused for a while.
            </p>
          ) : (
            <Table caption="Circuits" rows={all} keyOf={({ route }) => route} columns={routeColumns} />
          )
        }
      </Asked>
    </Page>
  )
}

interface Route {
  readonly route: string
  readonly circuit: string
  readonly scar: number
  readonly retryAfterMs: number
  readonly leases: number
}

const budgetColumns = [
  {
    name: 'Task',
    show: ({ taskId }: BudgetRecord) => (
      <Link to="/tasks/$taskId" params={{ taskId }} data-row>
        <code title={taskId}>{shortId(taskId)}</code>
      </Link>
    ),
  },
  { name: 'Asks about', show: ({ asks }: BudgetRecord) => asks?.field ?? '–' },
  { name: 'Used', show: ({ used }: BudgetRecord) => sums(used) },
  { name: 'Limits', show: ({ limits }: BudgetRecord) => sums(limits) },
  { name: 'Parked', show: ({ parked }: BudgetRecord) => count(parked), isNumber: true },
  { name: 'Answer', show: (budget: BudgetRecord) => <BudgetAnswer budget={budget} /> },
]

function BudgetAnswer({ budget: { taskId, asks, limits } }: { readonly budget: BudgetRecord }) {
  const question = useQuestion()
  const [raise, setRaise] = useState('')
  const mayOperate = useMayOperate()
  const field = asks?.field ?? 'steps'
  const goOn = async () => {
    const more = Number(raise)
    const { resumed } = await api().budgets.continue(taskId, more > 0 ? { raise: { [field]: more } } : {})
    return `${many(resumed, 'task')} ${resumed === 1 ? 'goes' : 'go'} on`
  }
  if (!mayOperate) return '–'
  return (
    <div className="row">
      <button type="button" onClick={question.open}>
        Go on<span className="hidden"> with {taskId}</span>
      </button>
      <Confirmed
        label={`Stop ${taskId}`}
        shown="Stop"
        title="End the tasks under this budget?"
        yes="End them"
        action={async () => {
          const { resumed } = await api().budgets.stop(taskId)
          return `The budget was stopped; ${many(resumed, 'task')} ${resumed === 1 ? 'ends' : 'end'}`
        }}
      >
        <p>They fail with the kind budget_exceeded.</p>
      </Confirmed>
      {question.isOpen ? (
        <FormDialog question={question} title="Let the tasks go on" submit="Go on" action={goOn}>
          <label className="field">
            <span>
              Raise the limit of {field} ({limits[field] === undefined ? 'none' : amount(limits[field])}) by
            </span>
            <input
              inputMode="decimal"
              pattern="[0-9.]*"
              placeholder="0"
              value={raise}
              onChange={({ target }) => setRaise(target.value)}
            />
          </label>
        </FormDialog>
      ) : null}
    </div>
  )
}

const quotaColumns = [
  {
    name: 'Quota',
    show: ({ key }: QuotaState) => (
      <RowLink row={key}>
        <code>{key}</code>
      </RowLink>
    ),
  },
  { name: 'Queued', show: ({ queued }: QuotaState) => count(queued), isNumber: true },
  {
    name: 'Running',
    show: ({ running, maxInFlight }: QuotaState) =>
      maxInFlight === undefined ? count(running) : `${count(running)} of ${count(maxInFlight)}`,
    isNumber: true,
  },
  {
    name: 'Blocked until',
    show: ({ blockedUntil }: QuotaState) => (blockedUntil === undefined ? '–' : <When at={blockedUntil} />),
  },
]

const clientColumns = [
  {
    name: 'Client',
    show: ({ name }: ClientRecord) => (
      <Link to="/tasks" search={{ client: name }} data-row>
        <strong>{name}</strong>
      </Link>
    ),
  },
  { name: 'Tier', show: ({ tier }: ClientRecord) => tier },
  { name: 'Credits', show: ({ credits }: ClientRecord) => amount(credits), isNumber: true },
  { name: 'Spent', show: ({ spent }: ClientRecord) => amount(spent), isNumber: true },
  { name: 'Queued', show: ({ queued }: ClientRecord) => count(queued), isNumber: true },
  { name: 'Running', show: ({ running }: ClientRecord) => count(running), isNumber: true },
]

const routeColumns = [
  {
    name: 'Route',
    show: ({ route }: Route) => (
      <RowLink row={route}>
        <code>{route}</code>
      </RowLink>
    ),
  },
  {
    name: 'Circuit',
    show: ({ circuit }: Route) => (
      <State state={circuit === 'closed' ? 'completed' : 'failed'} note={circuit} />
    ),
  },
  { name: 'Leases', show: ({ leases }: Route) => count(leases), isNumber: true },
  {
    name: 'Tries again in',
    show: ({ retryAfterMs }: Route) => (retryAfterMs === 0 ? '–' : duration(retryAfterMs)),
  },
]

function sums(given: Readonly<Record<string, number | undefined>>): string {
  const some = Object.entries(given).filter(([, value]) => value !== undefined && value !== 0)
  if (some.length === 0) return '–'
  return some
    .map(([name, value]) =>
      name === 'wallMs' ? `time ${duration(value ?? 0)}` : `${name} ${amount(value ?? 0)}`,
    )
    .join(', ')
}
