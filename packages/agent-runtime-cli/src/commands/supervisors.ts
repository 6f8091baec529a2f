import type { Call, Run } from '../call.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { readInput } from '../read-input.ts'
import type { Connection } from '../remote.ts'
import { show as repeated } from '../screen/repeat.ts'
import { pairs, table } from '../screen/table.ts'
import { stateText } from '../screen/tasks.ts'
import { ago, count, lasting, many } from '../screen/words.ts'
import { taskIn } from '../task-id.ts'
import { loadTaskTypes } from '../task-types.ts'

interface ListOptions {
  readonly all?: boolean
  readonly limit?: number
  readonly cursor?: number
}

export const run: Run = async (call) => {
  await using client = await connect(await call.settings())
  return await repeated(call, (isWatching) => list(call, client, isWatching))
}

async function list({ options, print }: Call, client: Connection, isWatching: boolean): Promise<void> {
  const { all = false, limit = 20, cursor } = options as ListOptions
  const page = await client.supervisors.list({
    limit,
    ...(cursor === undefined ? {} : { cursor }),
    ...(all ? {} : { supervising: true }),
  })
  const lines = () =>
    page.supervisors.length === 0
      ? [all ? 'no supervisor has begun' : 'no supervisor supervises now; --all lists those that ended, too']
      : table(
          ['SUPERVISOR', 'TYPE', 'STATE', 'STRATEGY', 'CHILDREN', 'RUNNING', 'RESTARTS'],
          page.supervisors.map(({ taskId, type, state, terms, children, restarts }) => [
            taskId,
            type,
            stateText(state),
            terms?.strategy ?? 'supervises no more',
            `${count(children.open)} of ${count(children.total)} open`,
            count(children.running),
            terms === undefined
              ? ''
              : {
                  text: `${count(restarts)} of ${count(terms.maxRestarts)} in ${lasting(terms.periodMs)}`,
                  style: restarts >= terms.maxRestarts ? 'yellow' : [],
                },
          ]),
        )
  if (isWatching) print.screen(page, lines)
  else print.answer(page, lines)
  if (page.cursor !== undefined) print.note(`there are more: --cursor ${page.cursor}`)
}

export const show: Run = async ({ args: [given = ''], print, settings, system }) => {
  await using client = await connect(await settings())
  const found = await client.supervisors.which(await taskIn(client, given))
  const { terms, restartedAt, children } = found
  const hasTime = children.some(({ shutdownMs }) => shutdownMs !== undefined)
  print.answer(found, () => [
    ...pairs([
      ['supervisor', found.taskId],
      ['strategy', terms?.strategy ?? 'it supervises no more'],
      [
        'restarts',
        terms &&
          `at most ${terms.maxRestarts} in ${lasting(terms.periodMs)}; ${many(restartedAt.length, 'restart')} counted${restartedAt.length === 0 ? '' : `, the last ${ago(Math.max(...restartedAt), system.now())}`}`,
      ],
      [
        'shutdown',
        terms?.shutdownMs === undefined ? undefined : `a child has ${lasting(terms.shutdownMs)} to stop`,
      ],
    ]),
    '',
    ...(children.length === 0
      ? ['it has no children']
      : table(
          ['CHILD', 'TYPE', 'STATE', 'TRY', 'RESTART', ...(hasTime ? ['TO STOP'] : []), 'TASK'],
          children.map(({ id, type, state, attempt, restart, shutdownMs, taskId: child }) => [
            id,
            type,
            stateText(state),
            attempt === 1 ? '' : String(attempt),
            restart,
            ...(hasTime ? [shutdownMs === undefined ? '' : lasting(shutdownMs)] : []),
            child,
          ]),
        )),
  ])
  return cliExitCodes.ok
}

export const start: Run = async (call) => {
  const { args, print, settings } = call
  const [supervisor = '', id = '', type = '', given] = args
  const options = call.options as {
    readonly restart?: 'permanent' | 'transient' | 'temporary'
    readonly shutdown?: number
    readonly input?: string
  }
  const read = await settings()
  const input = await readInput(call, given, options.input)
  await using client = await connect(read, { types: await loadTaskTypes(read) })
  const started = await client.supervisors.start(await taskIn(client, supervisor), id, type, input, {
    restart: options.restart,
    shutdownMs: options.shutdown,
  })
  print.answer(started, () => [started.taskId])
  return cliExitCodes.ok
}

export const stop: Run = async ({ args: [given = '', id = ''], print, settings }) => {
  await using client = await connect(await settings())
  const stopped = await client.supervisors.stop(await taskIn(client, given), id)
  print.answer(stopped, () => [
    stopped.stopped ? `child ${id} stopped` : `child ${id} had ended before: it is ${stopped.state}`,
  ])
  return stopped.stopped ? cliExitCodes.ok : cliExitCodes.failed
}

export const restart: Run = async ({ args: [given = '', id = ''], print, settings }) => {
  await using client = await connect(await settings())
  const started = await client.supervisors.restart(await taskIn(client, given), id)
  print.answer(started, () => [started.taskId])
  return cliExitCodes.ok
}
