import { jobArguments, type JobTarget } from './job-target.ts'
import { callService, idOf, type ServiceOptions } from './service.ts'

export interface LambdaJobsOptions extends ServiceOptions {
  /** The name or the ARN of the function. Its `MaximumRetryAttempts` for asynchronous calls is 0. */
  readonly function: string
  /** The region, such as `eu-central-1`. */
  readonly region: string
  /** The URL of the service; that of Lambda in the region by default. */
  readonly server?: string | undefined
}

/**
 * Invokes a Lambda function for each task, without waiting for it. The event is `{ taskId, type, args }`; the function runs
 * `agent-runtime` with `args`. The headers sign the request (Signature Version 4). Lambda tells no state of an invocation and
 * stops none: `state` is `unknown` and `stop` false. A function runs for 15 min at most, and its task again after its lease.
 */
export function lambdaJobs(options: LambdaJobsOptions): JobTarget {
  const { region, server = `https://lambda.${region}.amazonaws.com` } = options
  const url = new URL(`/2015-03-31/functions/${encodeURIComponent(options.function)}/invocations`, server)
  const signed: ServiceOptions = {
    ...options,
    headers: async (request) => ({
      'x-amz-invocation-type': 'Event',
      ...(await options.headers?.(request)),
    }),
  }
  return {
    name: 'lambda',
    start: async (task) => {
      const { taskId, type } = task
      const event = { taskId, type, args: jobArguments(task) }
      const { header, status } = await callService('Lambda', signed, 'POST', url.href, event)
      const id = status === 202 ? (header('x-amzn-requestid') ?? undefined) : undefined
      return { target: 'lambda', id: idOf('Lambda', id, 'accepting the event') }
    },
    stop: () => Promise.resolve(false),
    state: () => Promise.resolve('unknown'),
  }
}
