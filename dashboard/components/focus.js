{
// Save is gone with its form: the next stop of Tab is Undo, beside what was saved.
const saved = document.currentScript.closest('[data-testid="stElementContainer"]')
  .previousElementSibling?.querySelector('[data-testid="stAlertContainer"]');
if (saved) {
  saved.tabIndex = -1;
  saved.focus({preventScroll: true});
  setTimeout(() => saved.closest('.st-key-plan-save')?.scrollIntoView({block: 'nearest'}), 300);
}
}
