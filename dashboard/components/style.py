"""CSS of the HTML tables and figures; the theme has the rest.

Colours derive from the text colour and one accent that is legible on light and dark
backgrounds, because the HTML does not know the active theme.
"""

from dashboard.tables.html_grids import SHADES

DEEPEST = 46
"""Percent of the accent behind a depot's busiest day."""

_RULES = """
.hf, .hf-figures { --hf-accent: #1787ac; --hf-late: #d8473c;
  --hf-quiet: color-mix(in srgb, currentColor 68%, transparent);
  --hf-line: color-mix(in srgb, currentColor 13%, transparent);
  font-variant-numeric: tabular-nums; }
.hf { width: 100%; border-collapse: collapse; font-size: .875rem; line-height: 1.3;
  margin: 0; }
.hf.narrow { max-width: 34rem; }
.hf th, .hf td { border: 0; border-bottom: 1px solid var(--hf-line);
  padding: .375rem .5rem; text-align: right; font-weight: 400; }
.hf thead th { color: var(--hf-quiet); vertical-align: bottom; }
.hf th:first-child { text-align: left; padding-left: 0; }
.hf .total th, .hf .total td { font-weight: 650; }
.hf tbody + tbody .total th, .hf tbody + tbody .total td { padding-top: 1.125rem; }
.hf .day { border-left: 2px solid transparent; background-clip: padding-box; }
.hf .closed { color: var(--hf-quiet); font-size: .75rem; }
.hf small { display: block; color: var(--hf-quiet); font-size: .75rem; }
.hf .late { font-weight: 600; }
.hf .late::before { content: ""; display: inline-block; width: .5rem; height: .5rem;
  margin-right: .25rem; border-radius: 50%; background: var(--hf-late); }
.hf thead small { color: inherit; }
[data-testid="stCaptionContainer"] { color: inherit; opacity: .78; }
.hf a { color: inherit; text-decoration: underline 1px var(--hf-quiet);
  text-underline-offset: .2em; }
.hf a:hover, .hf a:focus-visible { text-decoration: underline 2px var(--hf-accent); }
:is(a, button, summary):focus-visible { outline: 2px solid #1787ac !important;
  outline-offset: 2px; }
.hf td { white-space: nowrap; }
.hf .phone { display: none; }
.hf .fill { text-align: left; white-space: normal; padding-left: 1rem; }
.hf .word, .hf .short { white-space: nowrap; }
.hf.narrow tbody th { white-space: nowrap; }
.hf.numbers { max-width: 64rem; }
.hf thead .day small { white-space: nowrap; }
.hf .wide { width: 6rem; white-space: nowrap; }
.hf-calendar th, .hf-calendar td { padding: .125rem .0625rem; text-align: center;
  font-size: .75rem; }
.hf-calendar th:first-child { width: 9rem; padding-right: .5rem;
  overflow-wrap: anywhere; }
.hf-calendar thead th { position: relative; height: 1.25rem; }
.hf-calendar thead span { position: absolute; left: 0; bottom: .125rem;
  white-space: nowrap; font-size: .6875rem; }
.hf-calendar .counted { color: var(--hf-accent); }
.hf-calendar .closed, .hf-calendar .before { color: var(--hf-quiet); }
.hf-calendar .missing { color: var(--hf-late); font-weight: 650; }
.hf-figures { display: grid; gap: .75rem 1.5rem; margin: 0; padding: 0 !important;
  grid-template-columns: repeat(auto-fit, minmax(8.5rem, max-content)); }
.hf-figures dt { font-size: .875rem; font-weight: 400; color: var(--hf-quiet); }
.hf-figures dd { margin: 0; font-size: 1.625rem; font-weight: 650; line-height: 1.25; }
.hf-figures small { display: block; font-size: .8125rem; font-weight: 400;
  color: var(--hf-quiet); }
@media (max-width: 1000px) {
  [data-testid="stHorizontalBlock"]:has(> [data-testid="stColumn"]) { row-gap: 1rem; }
  [data-testid="stColumn"] { min-width: calc(100% - 1.5rem); }
  .hf-week th, .hf-week td { padding-left: .25rem; padding-right: .25rem; }
  .hf-week .wide { width: auto; }
  .hf-week th:first-child, .hf-plan th:first-child { overflow-wrap: anywhere; }
}
@media (max-width: 640px) {
  .hf { font-size: .75rem; }
  .hf th, .hf td { padding: .375rem .1875rem; }
  .hf .wide, .hf .desk { display: none; }
  .hf .phone { display: inline; }
  .hf thead .day small { white-space: normal; }
  .hf .fill { padding-left: .375rem; }
  .hf .word { white-space: normal; min-width: 3.75rem; }
  .hf-week th, .hf-week td { padding-left: .1875rem; padding-right: .1875rem; }
  .hf small, .hf .closed { font-size: .6875rem; }
  .hf-calendar th, .hf-calendar td { padding: .125rem 0; font-size: .625rem; }
  .hf-calendar th:first-child { width: 5rem; padding-right: .25rem; }
  .hf-figures { grid-template-columns: 1fr 1fr; }
}
.hf-plan td { vertical-align: top; font-size: 1rem; font-weight: 600; }
.hf-plan .day { border-left: 0; }
.hf-plan td small, .hf-plan .closed { font-weight: 400; }
.hf-plan .short { font-size: .8125rem; font-weight: 600;
  text-decoration: underline 2px var(--hf-late); text-underline-offset: .2em; }
.hf-plan tbody + tbody td { font-size: .875rem; font-weight: 400; }
@media (max-width: 640px) {
  .hf-plan td .short { display: table; margin-left: auto; }
}
@media print {
  @page { size: A4 landscape; margin: 12mm; }
  .hf tr { break-inside: avoid; }
  [data-testid="stHeader"], [data-testid="stToolbar"], [data-testid="stForm"],
  [data-testid="stExpander"], [data-testid="stDownloadButton"],
  [data-testid="stSelectbox"], [data-testid="stButtonGroup"], .st-key-plan-asks,
  .st-key-plan-form { display: none !important; }
  html { zoom: .85; }
  [data-testid="stMainBlockContainer"] { padding: 0 !important; }
}
"""

_SHADES = "\n".join(
    f".hf .s{step} {{ background-color: color-mix(in srgb, "
    f"var(--hf-accent) {DEEPEST * step / SHADES:.1f}%, transparent); }}"
    for step in range(1, SHADES + 1)
)
SHEET = f"<style>{_RULES}{_SHADES}</style>"
