{
const form = document.currentScript.closest('.st-key-plan-form');
const app = document.querySelector('[data-testid="stApp"]');
form.onkeydown = ({key, target}) => {
  if (key !== 'Enter' || !['text', 'number'].includes(target.type)) return;
  if (target.role === 'combobox') return;
  const entered = `${target.ariaLabel} ${target.value}`;
  if (form.dataset.entered === entered && app.dataset.testScriptState === 'notRunning')
    form.querySelector('[data-testid="stBaseButton-primary"]')?.click();
  form.dataset.entered = entered;
};
// The browser asks before it drops what was entered and not saved.
const keep = window.harborKeep ??= event => {
  if (document.querySelector('.st-key-plan-form')) event.preventDefault();
};
form.oninput = () => window.addEventListener('beforeunload', keep);
form.onclick = ({target}) => {
  if (target.closest('[data-testid="stBaseButton-primary"]'))
    window.removeEventListener('beforeunload', keep);
};
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
