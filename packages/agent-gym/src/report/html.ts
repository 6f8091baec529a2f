import { lanes } from '@ku0/agent-runtime-core'
import { renderKilled } from './html-killed.ts'
import { style } from './html-style.ts'
import { showDuration, showNumber, showValue } from './numbers.ts'
import type { Plots, ServicePlot } from './plots.ts'
import type { Report, ScenarioReport } from './report.ts'
import { drawAttempts, drawCounts, drawDistributions, drawService, escape } from './svg.ts'

/** The report as one page that needs nothing else: no script, no font, no picture from elsewhere. */
export function renderHtml(report: Report, plots: ReadonlyMap<string, Plots>): string {
  const { passed, total } = report.summary.total
  const title =
    passed === total ? `All ${total} scenarios passed` : `${total - passed} of ${total} scenarios failed`
  const killed = [...plots.values()].flatMap((it) => it.killed ?? [])[0]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Gym: ${escape(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<header>
<h1>${escape(title)}</h1>
<p>${escape(describeResult(report))}</p>
<p class="quiet">${escape(describeRun(report))}</p>
</header>
${killed === undefined ? '' : renderKilled(killed)}
${renderSummary(report)}
${renderCriteria(report)}
${renderKpis(report)}
${report.scenarios.map((scenario) => renderScenario(scenario, plots.get(scenario.id))).join('\n')}
<footer class="quiet">Run ${escape(report.runId)}, schema ${report.schemaVersion}. The same data, in full, are in the JSON report beside this page.</footer>
</main>
</body>
</html>
`
}

/** The result in a sentence or two. */
function describeResult({ kpis: { tasks, duplicateEffects } }: Report): string {
  const steps =
    duplicateEffects === 0
      ? 'No effect was repeated.'
      : `${showNumber(duplicateEffects)} effects were repeated.`
  return `${showNumber(tasks.accepted)} tasks were accepted and ${showNumber(tasks.lost)} lost. ${steps}`
}

function describeRun({ startedAt, durationMs, suite, seed, env }: Report): string {
  const versions = Object.entries(env.versions).map(([name, version]) => `${name} ${version}`)
  return [
    `${startedAt.slice(0, 16).replace('T', ' ')} UTC, ${showDuration(durationMs)}`,
    `suite ${suite}, seed ${seed}`,
    `Node ${env.node.replace('v', '')} on ${env.platform} ${env.arch}`,
    `${env.cpus} × ${env.cpu}, ${showNumber(Math.round(env.memoryMb / 1024))} GB`,
    `load ${env.loadAverage} at the start`,
    `store ${env.store}, durability ${env.durability}`,
    ...versions,
  ].join(' · ')
}

function renderCriteria({ acceptance }: Report): string {
  const rows = acceptance.map(({ title, verdict: reached, evidence }) => {
    const state = reached === 'met' ? 'pass' : reached === 'not met' ? 'fail' : 'none'
    const lines =
      evidence.length === 0 ? 'no scenario of this run measures it' : evidence.map(escape).join('<br>')
    return `<tr><td>${badge(state, reached)}</td><td>${escape(title)}</td><td class="quiet">${lines}</td></tr>`
  })
  return `<section><details><summary>Acceptance criteria</summary><table><tbody>${rows.join('')}</tbody></table></details></section>`
}

function renderSummary({ scenarios }: Report): string {
  const rows = scenarios.map(
    ({ id, title, pass, figure, difficulty, durationMs }) =>
      `<tr><td>${verdict(pass)}</td><td><a href="#${id}">${escape(title)}</a></td><td class="quiet wide">${difficulty}</td><td>${escape(figure)}</td><td class="number wide">${showDuration(durationMs)}</td></tr>`,
  )
  return `<section><h2>Scenarios</h2><table><thead><tr><th>verdict</th><th>scenario</th><th class="wide">suite</th><th>key figure</th><th class="number wide">took</th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`
}

function renderKpis({ kpis }: Report): string {
  const { tasks, queueWaitMs, cancelMs } = kpis
  const spreads = [
    ['scheduler latency: from submit, or from a free slot, to the handler', kpis.schedulerLatencyMs],
    ['queue wait, interactive', queueWaitMs.interactive],
    ['queue wait, normal', queueWaitMs.normal],
    ['queue wait, batch', queueWaitMs.batch],
    ['cancel, to the acknowledgement', cancelMs?.acknowledged ?? null],
    ['cancel, to the signal', cancelMs?.signaled ?? null],
    ["cancel, until the tool's processes are gone", cancelMs?.processesGone ?? null],
  ] as const
  const rows = spreads.map(
    ([name, spread]) =>
      `<tr><td>${escape(name)}</td>${[spread?.p50, spread?.p95, spread?.max, spread?.count].map((value) => `<td class="number">${showNumber(value ?? null)}</td>`).join('')}</tr>`,
  )
  const resume = kpis.resumeMs
  const resumeRow = `<tr><td>resume: from the restart of a killed process to the first new step</td>${[resume?.p50, resume?.p95, resume?.max, resume?.count].map((value) => `<td class="number">${showNumber(value ?? null)}</td>`).join('')}</tr>`
  const facts = [
    ['submitted', tasks.submitted],
    ['accepted', tasks.accepted],
    ['rejected', tasks.rejected],
    ['completed', tasks.completed],
    ['failed', tasks.failed],
    ['canceled', tasks.canceled],
    ['lost', tasks.lost],
    ['effects repeated', kpis.duplicateEffects],
    ['leaks', kpis.leaks],
    ['deepest queue', kpis.peakDepth],
    ['most tasks/s', kpis.throughputPerSec === null ? null : Math.round(kpis.throughputPerSec)],
    ['order hash stable', kpis.orderHashStable],
  ] as const
  const tiles = facts.map(([name, value]) => `<div><b>${showNumber(value)}</b><span>${name}</span></div>`)
  return `<section><details><summary>All scenarios together</summary><div class="tiles">${tiles.join('')}</div><table><thead><tr><th>ms</th><th class="number">p50</th><th class="number">p95</th><th class="number">max</th><th class="number">cases</th></tr></thead><tbody>${rows.join('')}${resumeRow}</tbody></table></details></section>`
}

function renderScenario(scenario: ScenarioReport, plots: Plots | undefined): string {
  const { id, title, about, pass, reason, figure, settings, repro, category, difficulty } = scenario
  const why = reason === undefined ? '' : `<p class="failed">${escape(reason).replaceAll('\n', '<br>')}</p>`
  return `<section id="${id}">
<h2>${verdict(pass)} ${escape(title)}</h2>
<p>${escape(about)}</p>
${why}
<p class="quiet">${category}, ${difficulty} · key figure: ${escape(figure)}</p>
<details${pass ? '' : ' open'}><summary>Measures and plots</summary>
${renderFindings(scenario)}
${plots === undefined ? '' : renderPlots(plots)}
</details>
<details><summary>Settings and how to run it again</summary>
<pre>${escape(JSON.stringify(settings, undefined, 2))}</pre>
<pre>${escape(repro)}</pre>
</details>
</section>`
}

function renderFindings({ expectations }: ScenarioReport): string {
  const rows = expectations.map(
    ({ measure, expected, measured, unit, samples, pass, reason, rounds, sqliteRates, cases }) => {
      const notes = [reason, ...(cases ?? [])].filter((note) => note !== undefined).map(escape)
      const runs =
        rounds === undefined || rounds.length < 2
          ? ''
          : `<div class="quiet">each run: ${rounds.map(showNumber).join(', ')}${sqliteRates === undefined ? '' : `; plain SQLite beside it: ${sqliteRates.map(showNumber).join(', ')}`}</div>`
      const more = notes.length === 0 ? '' : `<div class="failed">${notes.join('<br>')}</div>`
      return `<tr><td>${verdict(pass)}</td><td>${escape(measure)}${runs}${more}</td><td>${escape(expected)}</td><td class="number">${escape(showValue(measured, unit))}</td><td class="number quiet">${showNumber(samples)}</td></tr>`
    },
  )
  return `<table><thead><tr><th></th><th>measured</th><th>expected</th><th class="number">found</th><th class="number">on</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function renderPlots({ depth, inFlight, waits, resumes, attempts, service, endMs, marks }: Plots): string {
  const styles = new Set<string>(lanes)
  const styleFor = (name: string) => `series-${styles.has(name) ? name : 'other'}`
  return [
    depth.length === 0
      ? ''
      : drawCounts(
          'Queue depth by lane',
          depth.map(({ lane, steps }) => ({ name: lane, style: styleFor(lane), steps })),
          endMs,
          marks,
        ),
    inFlight.length === 0
      ? ''
      : drawCounts(
          'Tasks in flight',
          [{ name: 'in flight', style: 'series-other', steps: inFlight }],
          endMs,
          marks,
        ),
    waits.length === 0
      ? ''
      : drawDistributions(
          'Time in the queue, by lane',
          waits.map((set) => ({ ...set, style: styleFor(set.name) })),
        ),
    resumes === undefined
      ? ''
      : drawDistributions('Resume: from the restart to the first new step', [
          { ...resumes, style: 'series-normal' },
        ]),
    service === undefined
      ? ''
      : drawService(
          'Service by client (credits), and what was due while all had tasks queued (dashed)',
          service,
          endMs,
          marks,
        ),
    service === undefined ? '' : renderService(service),
    attempts === undefined ? '' : drawAttempts('Attempts by worker', attempts, endMs, marks),
  ].join('\n')
}

function renderService({ clients }: ServicePlot): string {
  const percent = (part: number) => `${(part * 100).toFixed(2)} %`
  const rows = clients.map(
    ({ client, credits, served, part, due }) =>
      `<tr><td>${escape(client)}</td>${[showNumber(credits), showNumber(served), percent(part), percent(due)].map((cell) => `<td class="number">${cell}</td>`).join('')}</tr>`,
  )
  return `<table><thead><tr><th>client</th><th class="number">credits</th><th class="number">served while all had tasks queued</th><th class="number">part</th><th class="number">due</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function verdict(pass: boolean): string {
  return badge(pass ? 'pass' : 'fail', pass ? 'pass' : 'FAIL')
}

function badge(state: 'pass' | 'fail' | 'none', text: string): string {
  return `<span class="badge ${state}">${text}</span>`
}
