// A module of a pool whose tasks use a codec, one of them in a thread of its own.
import { z } from 'zod'
import { defineCodec, defineTask } from '../../../src/index.ts'

export class Money {
  readonly cents: number
  constructor(cents: number) {
    this.cents = cents
  }
}

export const codecs = [
  defineCodec({
    class: Money,
    name: 'money',
    encode: (money: Money) => money.cents,
    decode: (cents: number) => new Money(cents),
  }),
]

const double = ({ cents }: Money) => new Money(2 * cents)
const input = z.instanceof(Money)

export const inline = defineTask({ type: 'inline', input }, (_, money) => double(money) as never)
export const apart = defineTask(
  { type: 'apart', input, isolation: 'thread' },
  (_, money) => double(money) as never,
)
