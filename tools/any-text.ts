import fc from 'fast-check'

const [firstSurrogate, surrogates, last] = [0xd800, 0x800, 0x10ffff]

/** Any character but half a surrogate pair. fast-check's own unit, `binary`, makes a table of all million of them in each process: more than a second of a processor. */
const anyCharacter = fc.integer({ min: 0, max: last - surrogates }).map(
  (place) => String.fromCodePoint(place < firstSurrogate ? place : place + surrogates),
  (value) => {
    const point = typeof value === 'string' ? value.codePointAt(0) : undefined
    if (point === undefined || value !== String.fromCodePoint(point)) throw new Error('no such character')
    return point < firstSurrogate ? point : point - surrogates
  },
)

/** Texts of any characters, control characters among them. */
export function anyText(constraints: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: anyCharacter })
}
