/** The pages of the sidebar, with the key that opens each after `g`. */
export const places = [
  { to: '/', text: 'Overview', key: 'o' },
  { to: '/tasks', text: 'Tasks', key: 't' },
  { to: '/pipelines', text: 'Pipelines', key: 'i' },
  { to: '/supervisors', text: 'Supervisors', key: 'u' },
  { to: '/approvals', text: 'Approvals', key: 'a' },
  { to: '/dead-letters', text: 'Dead letters', key: 'd' },
  { to: '/queue', text: 'Queue', key: 'q' },
  { to: '/workers', text: 'Workers', key: 'w' },
  { to: '/schedules', text: 'Schedules', key: 's' },
  { to: '/limits', text: 'Limits', key: 'l' },
  { to: '/agents', text: 'Agents', key: 'n' },
  { to: '/gym', text: 'Gym reports', key: 'r' },
] as const
