import type { FailureKind } from '@ku0/agent-runtime-core'

/** The part of a stored error that telemetry reports. The message may hold anything a handler saw. */
export interface KnownError {
  readonly name?: string
  readonly code?: string
  readonly message?: string
}

/** Reads an error in the codec's form: plain data, an encoded Error, or something else, of which nothing is said. */
export function errorOf(stored: unknown): KnownError {
  const record = fieldsOf(stored)
  const [tag, inner] = tagOf(record['$ku0'])
  const fields = tag === 'Error' ? fieldsOf(inner) : record
  const props = tag === 'Error' ? fieldsOf(fields['props']) : fields
  return {
    ...text('name', fields['name']),
    ...text('code', props['code']),
    ...text('message', fields['message']),
  }
}

/** The `error.type` of a failure: its kind, or for an error of the handler's own that error's code or name. */
export function failureType(kind: FailureKind, error: unknown): string {
  if (kind !== 'error') return kind
  return errorType(error)
}

/** The `error.type` of a stored error: its code or its name. */
export function errorType(error: unknown): string {
  const { code, name } = errorOf(error)
  return code ?? name ?? 'error'
}

function tagOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function text<K extends string>(key: K, value: unknown): { [P in K]?: string } {
  return typeof value === 'string' && value !== '' ? ({ [key]: value } as { [P in K]?: string }) : {}
}
