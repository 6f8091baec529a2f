import type { BudgetField, BudgetSum, BudgetUse } from './budget.ts'
import type { OutOfCredits } from '../share/client.ts'
import type { UsageSum } from './usage.ts'

/** The budget of a task and all below it. Source: `docs/semantics.md 11.5`. */
export interface BudgetRow {
  /** The task that it was given to. */
  readonly task: number
  /** The task with the next budget above it. */
  readonly above: number | null
  readonly limits: BudgetSum
  /** Where it asks next. */
  readonly soft: BudgetSum
  readonly used: BudgetUse
  /** The part of it that the task itself used. */
  readonly own: BudgetUse
  readonly startedAt: number | null
  /** When the wall time reaches its next line. */
  readonly dueAt: number | null
  /** The line that was passed and that nobody has answered. */
  readonly asked: { readonly field: BudgetField; readonly at: number; readonly by: number } | null
  /** How often it has asked. */
  readonly asks: number
}

/** The cost of a task, in millionths. Source: `docs/semantics.md 11.5`. */
export interface AccountRow {
  /** Its estimated cost. */
  readonly cost: number
  /** Its usage so far, as its handler reported it; null if nothing was reported. */
  readonly used: UsageSum | null
  /** When it started first, once it has started again: its tokens are reserved in that window. */
  readonly reservedAt?: number
  /** The time that its start added to its client's virtual time; null before the start, and without shares. */
  readonly charge: number | null
  /** With a ledger: the credits that its start took from its client's, until it is over. */
  readonly reserved?: number
  /** Where it was submitted with one: what happens when its client has too few credits. */
  readonly outOfCredits?: OutOfCredits
  /** Where an agreement promised a time: its name, and within how many ms of its submission the task was to end. */
  readonly promised?: { readonly agreement: string; readonly latencyMs: number }
  /** Where it asked for credits: the number of the last entry of its client's ledger then. */
  readonly asked?: number
  /** Its client's virtual time when it was queued, where that gives it its place. */
  readonly place: number | null
}
