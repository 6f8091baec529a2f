import type { PipelineRecord } from '@ku0/agent-runtime-core'

/** The types of events that go from one stage to a later one. */
export interface Edge {
  readonly from: number
  readonly to: number
  readonly types: readonly string[]
  /** How many events of these types were published, and how many of them the later stage has received and has to receive. */
  readonly published: number
  readonly taken: number
  readonly unread: number
  /** The later stage holds back the earlier one. */
  readonly isFull: boolean
}

/** The arrows of a pipeline, by the stages at their ends. */
export function edgesOf({ terms, published, stages }: PipelineRecord): readonly Edge[] {
  return terms.stages.flatMap(({ publishes }, from) =>
    terms.stages.flatMap(({ subscribes }, to): readonly Edge[] => {
      const types = publishes.filter((type) => subscribes.includes(type))
      const reader = stages[to]
      if (types.length === 0 || reader === undefined || to <= from) return []
      const heldBack = new Set(stages[from]?.heldBack)
      const isHolding = (type: string) =>
        reader.tasks.some(({ ended, unread }) => !ended && (unread[type] ?? 0) >= terms.maxUnread)
      return [
        {
          from,
          to,
          types,
          published: sum(types, published),
          taken: sum(types, reader.taken),
          unread: sum(types, reader.unread),
          isFull: types.some((type) => heldBack.has(type) && isHolding(type)),
        },
      ]
    }),
  )
}

function sum(types: readonly string[], counts: Readonly<Record<string, number>>): number {
  return types.reduce((all, type) => all + (counts[type] ?? 0), 0)
}

/** Where everything of a drawing stands, in px. */
export interface Drawing {
  readonly width: number
  readonly height: number
  readonly boxes: readonly Box[]
  readonly arrows: readonly Arrow[]
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

interface Arrow {
  readonly edge: Edge
  /** For the `d` of a path. */
  readonly path: string
  /** The label's place: `above` its line in a gap, `beside` it in a gap of a column, or `on` the line of a lane. */
  readonly label: {
    readonly x: number
    readonly y: number
    readonly at: 'above' | 'beside' | 'on'
    /** As wide as it may be, where another box begins beside it. */
    readonly width?: number
  }
}

const BOX = { width: 164, mostWidth: 232, height: 92 }
const LEAST_GAP = 104
const MOST_GAP = 220
const COLUMN_GAP = 60
const LANE = { row: 34, column: 48 }
const ROUND = 8

/**
 * The stages stand in a row, or in a column where there is little room. An arrow to the next stage is straight; one that passes stages by has a
 * lane of its own beside them, so that no arrow crosses a box.
 */
export function layout(count: number, edges: readonly Edge[], room: number, isColumn: boolean): Drawing {
  const lanes = lanesFor(edges.filter(({ from, to }) => to > from + 1))
  const laneCount = Math.max(0, ...[...lanes.values()].map((lane) => lane + 1))
  const step = isColumn ? LANE.column : LANE.row
  const beside = laneCount === 0 ? 0 : laneCount * step + 8
  const shared = (room - (count - 1) * MOST_GAP) / count
  const long = isColumn ? BOX.height : Math.min(BOX.mostWidth, Math.max(BOX.width, shared))
  const across = isColumn ? Math.max(140, room - beside) : BOX.height
  const free = count < 2 ? 0 : (room - count * long) / (count - 1)
  const gap = isColumn ? COLUMN_GAP : Math.min(MOST_GAP, Math.max(LEAST_GAP, free))
  const begin = (stage: number) => stage * (long + gap)
  const middle = isColumn ? 28 : across / 2
  /** Along the row of stages, and across it. */
  const at = (along: number, aside: number) => (isColumn ? `${aside} ${along}` : `${along} ${aside}`)
  const place = (along: number, aside: number) => (isColumn ? { x: aside, y: along } : { x: along, y: aside })

  const ports = portsFor(edges, long)
  const arrows = edges.map((edge): Arrow => {
    const lane = lanes.get(edge)
    if (lane === undefined) {
      const [start, end] = [begin(edge.from) + long, begin(edge.to)]
      const label = isColumn
        ? ({ ...place((start + end) / 2, middle), at: 'beside' } as const)
        : ({ ...place((start + end) / 2, middle), at: 'above', width: gap - 8 } as const)
      return { edge, path: `M ${at(start, middle)} L ${at(end - 2, middle)}`, label }
    }
    const aside = across + 22 + lane * step
    const start = begin(edge.from) + (ports.out.get(edge) ?? 0)
    const end = begin(edge.to) + (ports.in.get(edge) ?? 0)
    const path = [
      `M ${at(start, across)} L ${at(start, aside - ROUND)}`,
      `Q ${at(start, aside)} ${at(start + ROUND, aside)}`,
      `L ${at(end - ROUND, aside)} Q ${at(end, aside)} ${at(end, aside - ROUND)}`,
      `L ${at(end, across + 2)}`,
    ].join(' ')
    return { edge, path, label: { ...place((start + end) / 2, aside), at: 'on' } }
  })
  const whole = count * long + Math.max(0, count - 1) * gap
  return {
    width: isColumn ? across + beside : whole,
    height: isColumn ? whole : across + beside,
    boxes: Array.from({ length: count }, (_, stage) => ({
      ...place(begin(stage), 0),
      width: isColumn ? across : long,
      height: isColumn ? long : across,
    })),
    arrows,
  }
}

/** A lane for each arrow that passes stages by: short ones stand nearest, and two share one where they do not meet. */
function lanesFor(edges: readonly Edge[]): ReadonlyMap<Edge, number> {
  const lanes = new Map<Edge, number>()
  for (const edge of edges.toSorted((a, b) => a.to - a.from - (b.to - b.from) || a.from - b.from)) {
    const meets = (other: Edge) => other.from < edge.to && edge.from < other.to
    const taken = new Set([...lanes].filter(([other]) => meets(other)).map(([, lane]) => lane))
    let lane = 0
    while (taken.has(lane)) lane += 1
    lanes.set(edge, lane)
  }
  return lanes
}

/** Where arrows leave a box and come in, from its beginning: those that come in stand first. */
function portsFor(edges: readonly Edge[], long: number) {
  const ports = { in: new Map<Edge, number>(), out: new Map<Edge, number>() }
  const passing = edges.filter(({ from, to }) => to > from + 1)
  for (const edge of passing) {
    const before = passing.filter((it) => it.to === edge.to && it.from > edge.from).length
    ports.in.set(edge, 20 + 14 * before)
    const after = passing.filter((it) => it.from === edge.from && it.to < edge.to).length
    ports.out.set(edge, long - 20 - 14 * after)
  }
  return ports
}
