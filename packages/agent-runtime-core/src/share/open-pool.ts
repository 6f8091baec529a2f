/** The pool of the clients that have a task which no quota shared with others can hold back, or none queued. */
export const OPEN = ''
