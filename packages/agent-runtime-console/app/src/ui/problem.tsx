import { ApiError, ServerUnreachable } from '@ku0/agent-runtime-client'

/** Shows an error, what to do about it, and a button to try again. */
export function Problem({
  error,
  what,
  onRetry,
}: {
  readonly error: unknown
  /** The content that was asked for: `the tasks`. */
  readonly what: string
  readonly onRetry?: (() => unknown) | undefined
}) {
  const { detail, remedy, code } = facts(error)
  return (
    <div className="problem" role="alert">
      <p>
        <strong>Could not get {what}.</strong> {detail}
      </p>
      {remedy === undefined ? null : <p>{remedy}</p>}
      <p className="row">
        {onRetry === undefined ? null : (
          <button type="button" onClick={() => onRetry()}>
            Try again
          </button>
        )}
        {code === undefined ? null : <code>{code}</code>}
      </p>
    </div>
  )
}

/** Says why an action failed, and lets it be tried again. Nothing without a failure. */
export function Failed({
  error,
  onRetry,
}: {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
}) {
  if (error === undefined) return null
  const { detail, remedy, code } = facts(error, UNREACHED)
  return (
    // What says how an action went is read out already.
    <div
      className={onRetry === undefined ? 'problem' : 'told'}
      role={onRetry === undefined ? 'alert' : undefined}
    >
      <p>
        {detail} {remedy}
      </p>
      <p className="row">
        {onRetry === undefined ? null : (
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        )}
        {code === undefined ? null : <code>{code}</code>}
      </p>
    </div>
  )
}

const UNREACHED = 'Whether it was done is not known: look, and try again if it was not.'
const ASKS_AGAIN = 'Check that it still runs and that you are connected. The page tries again by itself.'

/** An error in words for a person. `unreached`: what to do where no answer came. */
export function facts(
  error: unknown,
  unreached = ASKS_AGAIN,
): { detail: string; remedy?: string | undefined; code?: string } {
  if (error instanceof ApiError) {
    const fields = error.problem.fields?.map(({ field, allowed }) => `${field}: ${allowed}`).join('; ')
    return {
      detail: sentence(fields === undefined ? error.problem.detail : `${error.problem.detail}: ${fields}`),
      remedy: error.problem.remedy === undefined ? undefined : sentence(error.problem.remedy),
      // The server's log says more of its own faults.
      code: error.status < 500 ? error.code : [error.code, error.problem.instance].join(' '),
    }
  }
  if (error instanceof ServerUnreachable)
    return {
      detail: 'The server does not answer.',
      remedy: unreached,
    }
  return { detail: sentence(error instanceof Error ? error.message : String(error)) }
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
