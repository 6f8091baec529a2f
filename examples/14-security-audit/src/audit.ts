// The audit: three scanners side by side under a supervisor, then one report of all that they found.
import { defineGraph, defineSupervisor, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import { Finding, Scan } from './findings.ts'
import { config, network, web } from './scanners.ts'

const Scope = z.object({ url: z.string(), ports: z.array(z.number()).readonly(), folder: z.string() })

/** A scanner that fails starts again by itself; the others do not notice. */
const scanners = defineSupervisor({
  type: 'scanners',
  input: Scope,
  strategy: 'one_for_one',
  maxRestarts: 3,
  results: true,
  children: {
    network: { task: network, input: ({ ports }) => ports },
    web: { task: web, input: ({ url }) => url },
    config: { task: config, input: ({ folder }) => folder },
  },
})

/** What the audit gives. */
export const reportSchema = z.object({
  findings: z.array(Finding.extend({ by: z.string() })),
  high: z.number(),
  probes: z.number(),
  asked: z.number(),
  dismissed: z.number(),
  /** The scanners that gave nothing. */
  missing: z.array(z.string()),
})

const names = ['network', 'web', 'config'] as const
const severities = ['high', 'medium', 'low'] as const

const report = defineTask(
  {
    type: 'report',
    input: z.object({ network: Scan.optional(), web: Scan.optional(), config: Scan.optional() }),
    output: reportSchema,
  },
  (ctx, scans) =>
    ctx.step('put together', () => {
      const all = names.flatMap((by) => {
        const scan = scans[by]
        return scan === undefined ? [] : [{ by, scan }]
      })
      const findings = severities.flatMap((severity) =>
        all.flatMap(({ by, scan }) =>
          scan.findings.filter((it) => it.severity === severity).map((it) => ({ ...it, by })),
        ),
      )
      const sum = (field: 'probes' | 'asked' | 'dismissed') =>
        all.reduce((total, { scan }) => total + scan[field], 0)
      return {
        findings,
        high: findings.filter(({ severity }) => severity === 'high').length,
        probes: sum('probes'),
        asked: sum('asked'),
        dismissed: sum('dismissed'),
        missing: names.filter((name) => scans[name] === undefined),
      }
    }),
)

export const audit = defineGraph({
  type: 'audit',
  input: Scope,
  nodes: {
    scans: { task: scanners, input: ({ input }) => input },
    report: { task: report, after: ['scans'], input: ({ results }) => results.scans },
  },
})

export const tasks = [audit, scanners, network, web, config, report]
