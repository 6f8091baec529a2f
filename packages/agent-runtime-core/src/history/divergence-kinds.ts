/**
 * How a handler's calls can differ from those that its task's history holds; `history_edited`: the history is not the one that was
 * written; `value_unreadable`: this program lacks what a stored value needs. The names are frozen. Source: `docs/semantics.md 6.4`.
 */
export const divergenceKinds = [
  'unexpected_step',
  'missing_step',
  'input_changed',
  'order_changed',
  'history_edited',
  'value_unreadable',
] as const
export type DivergenceKind = (typeof divergenceKinds)[number]
