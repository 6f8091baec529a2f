import Theme from 'vitepress/theme-without-fonts'
// oxlint-disable-next-line import/no-unassigned-import -- a style sheet has nothing to assign
import './style.css'

export default Theme
