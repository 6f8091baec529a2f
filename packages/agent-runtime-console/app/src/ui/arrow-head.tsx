/** The head of the arrows of a drawing, for its `defs`. `id` is what `markerEnd` names, `look` its class. */
export function ArrowHead({ id, look = id }: { readonly id: string; readonly look?: string }) {
  return (
    <marker
      id={id}
      className={look}
      viewBox="0 0 8 8"
      refX="7"
      refY="4"
      markerWidth="8"
      markerHeight="8"
      markerUnits="userSpaceOnUse"
      orient="auto"
    >
      <path d="M 0 0 L 8 4 L 0 8 z" />
    </marker>
  )
}
