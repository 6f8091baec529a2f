/** A page of the site: the file it is made from, below the root of the repository, and its name in the sidebar. */
export interface Page {
  readonly file: string
  readonly text: string
}

export interface Section {
  readonly text: string
  readonly pages: readonly Page[]
}

const page = (file: string, text: string): Page => ({ file, text })

/** The sidebar, in a reader's order. The build fails when a page of docs/ is in no section. */
export const sections: readonly Section[] = [
  {
    text: 'Start',
    pages: [
      page('README.md', 'Overview'),
      page('docs/durable-agents.md', 'Durable agents in ten minutes'),
      page('docs/cookbook.md', 'Cookbook'),
      page('docs/faq.md', 'Questions'),
      page('docs/compared.md', 'Compared with others'),
      page('docs/compared-programs.md', 'The same agent, ten times'),
      page('docs/performance.md', 'Performance'),
    ],
  },
  {
    text: 'Coming from',
    pages: [
      page('docs/coming-from/bullmq.md', 'BullMQ'),
      page('docs/coming-from/dbos.md', 'DBOS'),
      page('docs/coming-from/inngest.md', 'Inngest'),
      page('docs/coming-from/temporal.md', 'Temporal'),
    ],
  },
  {
    text: 'Build',
    pages: [
      page('docs/models.md', 'Models and streaming'),
      page('docs/gateway.md', 'Agents behind a gateway'),
      page('docs/approvals.md', 'Humans in the loop'),
      page('docs/recovery.md', 'Recovery by category'),
      page('docs/supervision.md', 'Supervision'),
      page('docs/children-and-graphs.md', 'Children and graphs'),
      page('docs/pipelines.md', 'Pipelines'),
      page('docs/schedules.md', 'Schedules'),
      page('docs/agents.md', 'Agents by name'),
      page('docs/evaluation.md', 'Evaluation'),
      page('docs/marketplace.md', 'A marketplace of agents'),
      page('docs/changing-code.md', 'Changing code'),
      page('docs/strict-mode.md', 'Strict mode'),
      page('docs/lint.md', 'Lint rules'),
      page('docs/testing.md', 'Testing your tasks'),
      page('docs/client-and-worker.md', 'Clients and workers'),
      page('docs/pool.md', 'A pool of workers'),
      page('docs/isolation.md', 'Threads and processes'),
      page('docs/http-api.md', 'The HTTP API'),
      page('docs/reverse-proxy.md', 'Behind a reverse proxy'),
      page('docs/remote-workers.md', 'Workers on other machines'),
    ],
  },
  {
    text: 'Limit and order',
    pages: [
      page('docs/scheduling.md', 'The order of tasks'),
      page('docs/shares.md', 'Fair shares'),
      page('docs/credits.md', 'Credits'),
      page('docs/quotas.md', 'Quotas'),
      page('docs/budgets.md', 'Budgets'),
      page('docs/profiles.md', 'Profiles, circuits, swarms'),
    ],
  },
  {
    text: 'Run',
    pages: [
      page('docs/cli.md', 'The command line'),
      page('docs/console.md', 'The console'),
      page('docs/operating.md', 'Operating'),
      page('docs/bundlers.md', 'Bundlers'),
      page('docs/deploy.md', 'Deploying'),
      page('docs/production.md', 'Production checklist'),
      page('docs/retention.md', 'Retention'),
      page('docs/postgresql.md', 'PostgreSQL'),
      page('docs/postgresql-scale.md', 'Past one PostgreSQL'),
      page('docs/versioning.md', 'Versioning'),
      page('docs/security.md', 'Security'),
      page('docs/explain.md', 'Why a task waits'),
      page('docs/guarantees.md', 'What is guaranteed'),
    ],
  },
  {
    text: 'Reference',
    pages: [
      page('docs/glossary.md', 'Glossary'),
      page('docs/semantics.md', 'Every rule'),
      page('docs/reliability.md', 'Every fault'),
      page('docs/proof.md', 'The test of each rule'),
      page('docs/paper.md', 'The scheduler paper'),
      page('docs/simulation.md', 'The simulation'),
      page('docs/ARCHITECTURE.md', 'Architecture'),
      page('docs/STYLE.md', 'Style'),
      page('CONTRIBUTING.md', 'Contributing'),
    ],
  },
]

/** Folders whose pages have a place of their own, below a heading each. */
export const folders: readonly { readonly folder: string; readonly text: string }[] = [
  { folder: 'docs/decisions', text: 'Decisions' },
  { folder: 'docs/evidence', text: 'Evidence' },
]
