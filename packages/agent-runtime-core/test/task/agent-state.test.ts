import { describe, expect, test } from 'vitest'
import {
  addedAgentMoves,
  type AgentCase,
  type AgentMove,
  agentState,
  agentStates,
  canAgentMove,
  paperAgentMoves,
  refusedAgentMoves,
} from '../../src/task/agent-state.ts'
import { waitReasons } from '../../src/wait/wait.ts'
import { compareOversight, defaultOversightMode, oversightModes } from '../../src/approval/oversight-mode.ts'
import { isFinal, taskMoves, type TaskState, taskStates } from '../../src/task/states.ts'

/** Every way to be in a task state that an agent state tells apart. */
function casesOf(state: TaskState): AgentCase[] {
  if (state === 'running') return [false, true].map((checkpointed) => ({ state, checkpointed }))
  if (state === 'waiting') return waitReasons.map((waitingFor) => ({ state, waitingFor }))
  return [{ state }]
}

/** Every move of a task, as agent states: those of its table, and those inside a pass. */
const moves = [
  ...taskStates.flatMap((from) =>
    taskMoves[from].flatMap((to) =>
      casesOf(from).flatMap((before) =>
        // A pass begins with no checkpoint behind it.
        casesOf(to)
          .filter((after) => after.state !== 'running' || !after.checkpointed)
          .map((after): [AgentCase, AgentCase] => [before, after]),
      ),
    ),
  ),
  ...[false, true].map((checkpointed): [AgentCase, AgentCase] => [
    { state: 'running', checkpointed },
    { state: 'running', checkpointed: !checkpointed },
  ]),
]
  .map(([before, after]) => `${agentState(before)} > ${agentState(after)}`)
  .filter((move) => new Set(move.split(' > ')).size === 2)
const made = new Set(moves)
const text = ({ from, to }: AgentMove) => `${from} > ${to}`

describe('a task as an agent (docs/semantics.md 12.0)', () => {
  test('12.0 has the seven states of the paper', () => {
    expect(agentStates).toEqual([
      'pending',
      'running',
      'waiting_approval',
      'checkpointed',
      'completed',
      'failed',
      'cancelled',
    ])
  })

  test.each<[AgentCase, string]>([
    [{ state: 'queued' }, 'pending'],
    [{ state: 'running', checkpointed: false }, 'running'],
    [{ state: 'running', checkpointed: true }, 'checkpointed'],
    [{ state: 'waiting', waitingFor: 'approval' }, 'waiting_approval'],
    [{ state: 'waiting', waitingFor: 'signal' }, 'checkpointed'],
    [{ state: 'waiting', waitingFor: 'timer' }, 'checkpointed'],
    [{ state: 'waiting', waitingFor: 'children' }, 'checkpointed'],
    [{ state: 'waiting', waitingFor: 'budget' }, 'checkpointed'],
    [{ state: 'waiting', waitingFor: 'divergence' }, 'checkpointed'],
    [{ state: 'completed' }, 'completed'],
    [{ state: 'failed' }, 'failed'],
    [{ state: 'rejected' }, 'failed'],
    [{ state: 'canceled' }, 'cancelled'],
  ])('12.0 %j is %s', (task, expected) => {
    expect(agentState(task)).toBe(expected)
  })

  test('12.0 every move of a task is one of the paper, or one that is added', () => {
    const [asPaper, added] = [new Set(paperAgentMoves.map(text)), new Set(addedAgentMoves.map(text))]
    expect([...made].filter((move) => !asPaper.has(move) && !added.has(move))).toEqual([])
    expect([...added].filter((move) => asPaper.has(move))).toEqual([])
    for (const move of addedAgentMoves) expect(move.why).not.toBe('')
  })

  test('12.0 every move of the paper is made, except the refused ones; every added one is made', () => {
    const refused = new Set(refusedAgentMoves.map(text))
    expect(paperAgentMoves.map(text).filter((move) => !made.has(move) && !refused.has(move))).toEqual([])
    expect([...refused].filter((move) => made.has(move))).toEqual([])
    expect(addedAgentMoves.map(text).filter((move) => !made.has(move))).toEqual([])
  })

  test('12.0 canAgentMove says just these, and final is final', () => {
    for (const from of agentStates)
      for (const to of agentStates)
        expect([from, to, canAgentMove(from, to)]).toEqual([from, to, made.has(`${from} > ${to}`)])
    const ends = taskStates.filter(isFinal).flatMap((state) => casesOf(state).map(agentState))
    for (const end of ends) expect(agentStates.some((to) => canAgentMove(end, to))).toBe(false)
  })
})

describe('modes of oversight', () => {
  test('12.0 supervised >= spot_check >= autonomous_escalation, which is the default', () => {
    expect([...oversightModes].toSorted(compareOversight)).toEqual([
      'autonomous_escalation',
      'spot_check',
      'supervised',
    ])
    expect(compareOversight('supervised', 'spot_check')).toBeGreaterThan(0)
    expect(compareOversight('spot_check', 'autonomous_escalation')).toBeGreaterThan(0)
    expect(compareOversight('spot_check', 'spot_check')).toBe(0)
    expect(defaultOversightMode).toBe('autonomous_escalation')
  })
})

test.each([
  [undefined, 'undefined'],
  [null, 'null'],
  [{ state: 'odd' }, '{"state":"odd"}'],
])('12.0 %j is no task, and the error says what is', (given, shown) => {
  expect(() => agentState(given as unknown as AgentCase)).toThrow(
    `agentState: a task as runtime.status gives it; given ${shown}`,
  )
})
