{
// Save is gone with its form: the next stop of Tab is Undo, beside what was saved. A field that
// has the focus keeps it.
const saved = document.currentScript.closest('[data-testid="stElementContainer"]')
  .previousElementSibling?.querySelector('[data-testid="stAlertContainer"]');
let tries = 30;
const timer = saved && setInterval(() => {
  const {activeElement: at, body} = document;
  const isHere = at === body || at.closest('.st-key-your-name');
  if (!isHere && --tries > 0) return;
  clearInterval(timer);
  if (!isHere) return;
  saved.tabIndex = -1;
  if (at === body) saved.focus({preventScroll: true});
  saved.closest('.st-key-plan-save')?.scrollIntoView({block: 'nearest'});
}, 100);
}
