{
const form = document.currentScript.closest('.st-key-plan-form');
const app = document.querySelector('[data-testid="stApp"]');
form.onkeydown = ({key, target}) => {
  if (key === 'Escape' && target.ariaExpanded !== 'true') form.querySelector('.hf-note a')?.click();
  if (key !== 'Enter' || !['text', 'number'].includes(target.type)) return;
  if (target.role === 'combobox') return;
  const typed = `${target.ariaLabel} ${target.value}`;
  if (form.dataset.entered === typed && app.dataset.testScriptState === 'notRunning')
    form.querySelector('[data-testid="stBaseButton-primary"]')?.click();
  form.dataset.entered = typed;
};
// The browser asks before it drops what was entered and not saved; a choice in the menu changes the
// page without leaving it, so that the question is ours.
const CHOICES = '[data-testid="stButtonGroup"], [data-testid^="stNumberInputStep"],'
  + ' [data-testid="stBaseButton-secondary"]:not(.st-key-undo *)';
const SAVED = '.st-key-plan-form [data-testid="stAlertContentSuccess"]';
const state = window.harborForm ??= {};
const entered = () => Object.assign(state, {isEntered: true, isSaving: false});
form.oninput = ({target}) => { if (target.role !== 'combobox') entered(); };
form.onclick = ({target}) => {
  if (target.closest(CHOICES)) entered();
  if (target.closest('[data-testid="stBaseButton-primary"]')) state.isSaving = true;
};
const isUnsaved = () => state.isEntered && document.querySelector('.st-key-plan-form')
  && !(state.isSaving && document.querySelector(SAVED));
window.onbeforeunload = event => { if (isUnsaved()) event.preventDefault(); };
const ask = event => {
  const isChoice = event.target.closest('a[data-testid*="Nav"]');
  if (!isChoice || !isUnsaved() || confirm('Leave the page? What you entered is not saved.')) return;
  event.preventDefault();
  event.stopPropagation();
};
if (!state.isWatched) addEventListener('click', ask, true);
state.isWatched = true;
form.tabIndex = -1;
const depot = new URLSearchParams(location.search).get('depot');
let tries = 50;
const timer = setInterval(() => {
  const number = depot ? form.querySelector('input[aria-label^="Orders"]') : form;
  number?.focus({preventScroll: true});
  const isReady = number && app.dataset.testScriptState === 'notRunning';
  if (!isReady && --tries > 0) return;
  clearInterval(timer);
  // A sheet from below hides half of the page: what it changes is scrolled above it.
  const rows = innerWidth < 1100 ? [...document.querySelectorAll('.hf-plan tbody tr')] : [];
  const ofDepot = ({search}) => depot && new URLSearchParams(search).get('depot') === depot;
  (rows.find(row => [...row.querySelectorAll('a')].some(ofDepot)) ?? rows[0])?.scrollIntoView();
}, 100);
}
