/** The page's look, for light and dark. Lanes and ends keep their colour in every plot, and differ in lightness too. */
export const style = `
:root {
  --page: #ffffff; --card: #f6f7f9; --text: #1a1d21; --quiet: #5b636e; --rule: #d9dde3; --grid: #e8ebef;
  --pass: #1a7f37; --pass-back: #dff5e4; --fail: #b3261e; --fail-back: #fde5e3; --none-back: #e8ebef;
  --interactive: #0b5cad; --normal: #0f9d76; --batch: #d9730d; --other: #6b4fbb;
  --completed: #4c9f70; --failed: #c8372d; --canceled: #8a93a0; --crashed: #e08a00; --given-back: #4f86d9; --open: #b8a2e3;
  --mark: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1d2125; --text: #e7eaee; --quiet: #9aa4b1; --rule: #363c44; --grid: #272c32;
    --pass: #6fdc8c; --pass-back: #16351f; --fail: #ff8f85; --fail-back: #47191a; --none-back: #2b3037;
    --interactive: #6cb2ff; --normal: #3fd1a4; --batch: #ffae57; --other: #b9a2ff;
    --completed: #58b883; --failed: #ff6f63; --canceled: #8a93a0; --crashed: #ffb02e; --given-back: #77a8f5; --open: #8f79c9;
    --mark: #ff8f85;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 0 0 .6rem; }
section { background: var(--card); border-radius: .6rem; padding: 1rem 1.2rem; margin: 1.2rem 0; overflow-x: auto; }
p { margin: .4rem 0; }
a { color: var(--interactive); }
.quiet { color: var(--quiet); font-size: .88rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .4rem 0; }
th { text-align: left; color: var(--quiet); font-weight: 500; }
td, th { padding: .28rem .5rem .28rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-right: .2rem; padding-left: .6rem; }
.badge { display: inline-block; font-size: .75rem; font-weight: 600; padding: .05rem .45rem; border-radius: .3rem; white-space: nowrap; }
.badge.pass { color: var(--pass); background: var(--pass-back); }
.badge.fail { color: var(--fail); background: var(--fail-back); }
.badge.none { color: var(--quiet); background: var(--none-back); }
.failed { color: var(--fail); font-size: .88rem; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .6rem; margin-bottom: .8rem; }
.tiles div { background: var(--page); border-radius: .4rem; padding: .5rem .7rem; }
.tiles b { display: block; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--quiet); font-size: .8rem; }
pre { background: var(--page); padding: .6rem .8rem; border-radius: .4rem; font-size: .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--quiet); font-size: .88rem; }
figure { margin: 1rem 0 0; }
figcaption { font-size: .85rem; font-weight: 600; margin-bottom: .2rem; }
svg { width: 100%; height: auto; display: block; background: var(--page); border-radius: .4rem; }
svg text { fill: var(--quiet); font: 10.5px system-ui, sans-serif; }
svg .name { font-size: 10px; }
svg .grid { stroke: var(--grid); fill: none; }
svg .axis { stroke: var(--rule); fill: none; }
svg .mark { stroke: var(--mark); stroke-dasharray: 3 3; fill: none; opacity: .8; }
svg .mark-name { fill: var(--mark); font-size: 10px; }
svg .line { fill: none; stroke-width: 1.6; stroke: var(--other); }
svg .line.series-interactive { stroke: var(--interactive); }
svg .line.series-normal { stroke: var(--normal); }
svg .line.series-batch { stroke: var(--batch); stroke-dasharray: 6 2; }
svg .line.ideal { stroke-dasharray: 3 3; stroke-width: 1.2; opacity: .75; }
svg .line.client-0 { stroke: var(--interactive); }
svg .line.client-1 { stroke: var(--normal); }
svg .line.client-2 { stroke: var(--batch); }
svg .line.client-3 { stroke: var(--other); }
svg .line.client-4 { stroke: var(--failed); }
svg .line.client-5 { stroke: var(--canceled); }
svg .key, svg .bar { fill: var(--other); }
svg .key.series-interactive { fill: var(--interactive); }
svg .key.series-normal { fill: var(--normal); }
svg .key.series-batch { fill: var(--batch); }
svg .key.client-0 { fill: var(--interactive); }
svg .key.client-1 { fill: var(--normal); }
svg .key.client-2 { fill: var(--batch); }
svg .key.client-3 { fill: var(--other); }
svg .key.client-4 { fill: var(--failed); }
svg .key.client-5 { fill: var(--canceled); }
svg .end-completed { fill: var(--completed); }
svg .end-failed { fill: var(--failed); }
svg .end-canceled { fill: var(--canceled); }
svg .end-crashed { fill: var(--crashed); }
svg .end-given-back { fill: var(--given-back); }
svg .end-open { fill: var(--open); }
.tracks { display: grid; gap: .5rem; margin: .6rem 0; }
.track { display: grid; grid-template-columns: minmax(5rem, 9rem) 1fr; gap: .6rem; align-items: center; font-size: .85rem; }
.track > div { position: relative; height: 1.3rem; background: var(--page); border-radius: .3rem; overflow: hidden; }
.track i { position: absolute; }
.track .bar { top: .15rem; bottom: .15rem; border-radius: .2rem; }
.track .done { background: var(--completed); }
.track .killed { background: var(--crashed); }
.track .step { top: .45rem; width: .4rem; height: .4rem; margin-left: -.2rem; border-radius: 50%; background: var(--text); }
ol { margin: .4rem 0; padding-left: 1.3rem; }
li { margin: .25rem 0; }
li b { font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { overflow-x: auto; }
@media (max-width: 40rem) {
  .wide { display: none; }
  svg { min-width: 34rem; }
}
`
