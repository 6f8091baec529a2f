import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link } from '@tanstack/react-router'
import { AgentsPage } from './pages/agents/agents.tsx'
import { ApprovalsPage } from './pages/approvals.tsx'
import { DeadLettersPage } from './pages/dead-letters.tsx'
import { LimitsPage } from './pages/limits.tsx'
import { OverviewPage } from './pages/overview/overview.tsx'
import { viewSearchOf } from './pages/overview/past.ts'
import { PipelinesPage } from './pages/pipeline/pipelines.tsx'
import { SupervisorsPage } from './pages/supervisor/supervisors.tsx'
import { QueuePage } from './pages/queue.tsx'
import { SchedulesPage } from './pages/schedules.tsx'
import { TaskPage } from './pages/task/task.tsx'
import { filterOf } from './pages/tasks/filter.ts'
import { TasksPage } from './pages/tasks/tasks.tsx'
import { WorkersPage } from './pages/workers.tsx'
import { Shell } from './shell/shell.tsx'
import { Empty } from './ui/empty.tsx'
import { Page } from './ui/page.tsx'
import { Problem } from './ui/problem.tsx'

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <Page title="No such page">
      <Empty title="The console has no page at this address">
        <Link to="/">Go to the overview</Link>
      </Empty>
    </Page>
  ),
  errorComponent: ({ error, reset }) => <Problem error={error} what="this page" onRetry={reset} />,
})

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

export const overviewRoute = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: viewSearchOf,
  component: OverviewPage,
})

export const tasksRoute = createRoute({
  getParentRoute: () => root,
  path: '/tasks',
  validateSearch: filterOf,
  component: TasksPage,
})

export const taskRoute = createRoute({
  getParentRoute: () => root,
  path: '/tasks/$taskId',
  validateSearch: (search: Record<string, unknown>) => ({
    ...(text(search['show']) === undefined ? {} : { show: text(search['show']) }),
    ...(text(search['at']) === undefined ? {} : { at: text(search['at']) }),
  }),
  component: TaskPage,
})

export const approvalsRoute = createRoute({
  getParentRoute: () => root,
  path: '/approvals',
  validateSearch: (search: Record<string, unknown>) =>
    text(search['request']) === undefined ? {} : { request: text(search['request']) },
  component: ApprovalsPage,
})

export const deadLettersRoute = createRoute({
  getParentRoute: () => root,
  path: '/dead-letters',
  validateSearch: (search: Record<string, unknown>) => ({
    ...(text(search['kind']) === undefined ? {} : { kind: text(search['kind']) }),
    ...(text(search['type']) === undefined ? {} : { type: text(search['type']) }),
  }),
  component: DeadLettersPage,
})

export const agentsRoute = createRoute({
  getParentRoute: () => root,
  path: '/agents',
  validateSearch: (search: Record<string, unknown>) =>
    text(search['agent']) === undefined ? {} : { agent: text(search['agent']) },
  component: AgentsPage,
})

export const gymRoute = createRoute({
  getParentRoute: () => root,
  path: '/gym',
  validateSearch: (search: Record<string, unknown>) => ({
    ...(text(search['a']) === undefined ? {} : { a: text(search['a']) }),
    ...(text(search['b']) === undefined ? {} : { b: text(search['b']) }),
  }),
  // It brings the gym's own comparison, which no other page needs.
  component: lazyRouteComponent(() => import('./pages/gym/gym.tsx'), 'GymPage'),
})

const tree = root.addChildren([
  overviewRoute,
  tasksRoute,
  taskRoute,
  approvalsRoute,
  deadLettersRoute,
  agentsRoute,
  gymRoute,
  createRoute({ getParentRoute: () => root, path: '/pipelines', component: PipelinesPage }),
  createRoute({ getParentRoute: () => root, path: '/supervisors', component: SupervisorsPage }),
  createRoute({ getParentRoute: () => root, path: '/queue', component: QueuePage }),
  createRoute({ getParentRoute: () => root, path: '/workers', component: WorkersPage }),
  createRoute({ getParentRoute: () => root, path: '/schedules', component: SchedulesPage }),
  createRoute({ getParentRoute: () => root, path: '/limits', component: LimitsPage }),
])

export const router = createRouter({
  routeTree: tree,
  // A filter in the address is as somebody would write it.
  parseSearch: (search) => {
    const given = new URLSearchParams(search)
    // A name that comes several times, as labels do in the API, is a list.
    return Object.fromEntries([...given.keys()].map((name) => [name, given.getAll(name).join(',')]))
  },
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined)
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
    return query === '' ? '' : `?${query.replaceAll('%2C', ',').replaceAll('%3D', '=')}`
  },
  defaultPreload: false,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
