/** Numbers drawn from a seed: the same seed and name give the same numbers on every machine. */
export interface SeededRandom {
  /** A number in [0, 1). */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number
  /** One of the items, which must not be empty. */
  pick<T>(items: readonly T[]): T
}

/** A stream of its own for each name, so that drawing more from one changes no other. The generator is sfc32. */
export function seededRandom(seed: number, name: string): SeededRandom {
  let [a, b, c, counter] = startingState(`${seed}/${name}`)
  const next = () => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 4_294_967_296
  }
  for (let i = 0; i < 12; i += 1) next()
  return {
    next,
    int: (low, high) => low + Math.floor(next() * (high - low + 1)),
    pick: (items) => {
      if (items.length === 0) throw new RangeError('nothing to pick from')
      return items[Math.floor(next() * items.length)] as (typeof items)[number]
    },
  }
}

/** Four words by FNV-1a over the text, each with its own start. */
function startingState(text: string): [number, number, number, number] {
  const word = (start: number) => {
    let hash = start
    for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619)
    return hash | 0
  }
  return [word(0x811c9dc5), word(0x1b873593), word(0x85ebca6b), 1]
}
