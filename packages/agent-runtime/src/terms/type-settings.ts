import { canonical, type Digest, RESERVED, type TypeSettings } from '@ku0/agent-runtime-core'
import type { Schema } from '../api/schema.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskTerms } from './task-definition.ts'

type Known = TaskTerms & Partial<Pick<TaskDefinition, 'retry' | 'isolation'>>

/**
 * What a process knows of its task types, as texts that another process can compare. A process that only submits leaves out what workers alone decide:
 * tries and isolation, and a time limit that it does not name.
 */
export function typeSettingsOf(
  types: Iterable<Known>,
  digest: Digest,
  { submits }: { readonly submits: boolean },
): ReadonlyMap<string, TypeSettings> {
  const all = new Map<string, TypeSettings>()
  for (const it of types) {
    if (it.type.startsWith(RESERVED)) continue
    const { lane, model, tools, budget, timeoutMs, retry, isolation } = it
    const shared = { lane, model, tools, budget, timeoutMs }
    const whole = submits ? shared : { ...shared, retry, isolation }
    const told = Object.entries(whole).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, textOf(value)] as const],
    )
    const input = schemaHash(it.input, digest)
    all.set(it.type, Object.fromEntries([...told, ...(input === undefined ? [] : [['input', input]])]))
  }
  return all
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : canonical(value)
}

/** By the JSON Schema that a schema tells of itself; undefined for one that tells none. */
function schemaHash(schema: Schema, digest: Digest): string | undefined {
  const { jsonSchema } = schema['~standard'] as unknown as { readonly jsonSchema?: JsonSchemaTeller }
  try {
    const told = jsonSchema?.input({ target: 'draft-2020-12' })
    return told === undefined ? undefined : digest.sha256Hex(canonical(told)).slice(0, 12)
  } catch {
    // It has parts that JSON Schema cannot tell.
    return undefined
  }
}

interface JsonSchemaTeller {
  readonly input: (options: { readonly target: string }) => unknown
}

/** Settings that a process which only submits may not know. */
export const workersAlone: ReadonlySet<string> = new Set(['timeoutMs', 'retry', 'isolation'])
