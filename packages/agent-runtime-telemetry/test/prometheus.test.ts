import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { attributes, metricCatalogue, type MetricEntry } from '../src/index.ts'

const folder = resolve(import.meta.dirname, '../../../docs/deploy')
const read = (file: string) => readFileSync(resolve(folder, file), 'utf8')

/** As Prometheus translates names that it gets over OTLP: https://prometheus.io/docs/guides/opentelemetry. */
const underscored = (name: string) => name.replaceAll('.', '_')

function prometheusNames({ name, instrument, unit }: MetricEntry): string[] {
  const base = underscored(name)
  if (instrument === 'histogram') return ['bucket', 'count', 'sum'].map((part) => `${base}_seconds_${part}`)
  if (instrument === 'counter' || instrument === 'observableCounter') return [`${base}_total`]
  return [unit === '1' ? `${base}_ratio` : base]
}

/** The labels that each metric has. */
const labelsOf = new Map(
  Object.values(metricCatalogue).flatMap((metric: MetricEntry) => {
    const labels = metric.attributes.map((key) => underscored(attributes[key].name))
    return prometheusNames(metric).map((name) => [name, new Set([...labels, 'le'])] as const)
  }),
)

interface Query {
  readonly where: string
  readonly expr: string
  /** A text for people, with labels of the query in braces. */
  readonly text: string
}

const dashboard = JSON.parse(read('grafana.json')) as {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
  }[]
}
const alerts = parse(read('prometheus-alerts.yaml')) as {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly annotations: Readonly<Record<'summary' | 'description', string>>
    }[]
  }[]
}

const queries: readonly Query[] = [
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({ where: title, expr, text: legendFormat })),
  ),
  ...alerts.groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, annotations }) => ({
      where: alert,
      expr,
      text: `${annotations.summary} ${annotations.description}`,
    })),
  ),
]

describe('the dashboard and the alert rules of docs/deploy.md', () => {
  test.each(queries)('$where asks for metrics and labels that there are', ({ expr, text }) => {
    const words = [...expr.matchAll(/\b(?:agent_runtime|messaging|error)_\w+/g)].map(([word]) => word)
    const metrics = words.filter((word) => labelsOf.has(word))
    expect(metrics.length).toBeGreaterThan(0)
    const labels = words.filter((word) => !labelsOf.has(word))
    const known = metrics.flatMap((metric) => [...(labelsOf.get(metric) ?? [])])
    expect(known).toEqual(expect.arrayContaining(labels))
    const shown = [...text.matchAll(/\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}/g)].map(([, label]) => label)
    expect(labels).toEqual(expect.arrayContaining(shown))
    const opened = expr.replaceAll(/"[^"]*"|[^([{]/g, '').length
    expect(expr.replaceAll(/"[^"]*"|[^)\]}]/g, '')).toHaveLength(opened)
  })

  test('a metric that is no more is noticed', () => {
    expect(labelsOf.has('agent_runtime_queue_depth')).toBe(true)
    expect(labelsOf.has('agent_runtime_queue_wait_time_seconds_bucket')).toBe(true)
    expect(labelsOf.has('agent_runtime_queue_length')).toBe(false)
  })
})
