import { type ExecutionConfig, suggestionFor } from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import { SaidOnce } from '../terms/said-once.ts'

/** The model and the tools that a task names. */
export interface QuotaNames {
  readonly model?: string | undefined
  readonly tools?: readonly string[] | undefined
}

/**
 * Warns once of each model or tool that no quota limits where others are limited by name, since it is most likely misspelt. A name with an
 * empty limit, `{ local: {} }`, is meant to be without one. Source: `docs/quotas.md`.
 */
export function watchQuotaNames(
  { quotaConfig }: Pick<ExecutionConfig, 'quotaConfig'>,
  log: LogLine,
): (type: string, names: QuotaNames) => void {
  const models = limited(quotaConfig?.models, quotaConfig?.defaults?.model)
  const tools = limited(quotaConfig?.tools, quotaConfig?.defaults?.tool)
  if (models === undefined && tools === undefined) return () => {}
  const said = new SaidOnce()
  const look = (kind: 'model' | 'tool', name: string, known: readonly string[], type: string) => {
    if (known.includes(name) || !said.isNew(kind, name)) return
    const meant = suggestionFor(name, known)
    log('warn', `no quota limits this ${kind}, is its name right?`, {
      [kind]: name,
      type,
      limited: known.slice(0, 20),
      ...(meant === undefined ? {} : { meant }),
    })
  }
  return (type, { model, tools: named = [] }) => {
    if (models !== undefined && model !== undefined) look('model', model, models, type)
    if (tools !== undefined) for (const tool of named) look('tool', tool, tools, type)
  }
}

/** The names that have a limit; undefined where every name has one, or none has. */
function limited(
  byName: Readonly<Record<string, unknown>> | undefined,
  usual: unknown,
): readonly string[] | undefined {
  const names = Object.keys(byName ?? {})
  return usual !== undefined || names.length === 0 ? undefined : names
}
