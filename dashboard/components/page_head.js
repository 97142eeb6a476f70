// Copies the page's address, or shows it where the browser forbids copying (plain http). A menu choice
// and the city carried over are one entry of the history. The menu of a narrow window closes after a
// choice, as Streamlit's does on phones only. A button skips to the first number.
{
const button = document.currentScript.previousElementSibling;
button.onclick = async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy link'; }, 2000);
  } catch {
    prompt('Copy this address:', location.href);
  }
};
const push = History.prototype.pushState;
history.pushState = (state, title, url) => {
  const next = new URL(url ?? '', location.href);
  const isCarriedOver = window.harborMenu && !location.search
    && next.pathname === location.pathname;
  (isCarriedOver ? history.replaceState : push).call(history, state, title, url);
};
document.onclick = ({target}) => {
  window.harborMenu = Boolean(target.closest('a[data-testid*="Nav"]'));
  if (innerWidth >= 768 || !target.closest('[data-testid="stSidebarNavLink"]')) return;
  setTimeout(() => document.querySelector('[data-testid="stSidebar"]:not([data-collapsed="true"])'
    + ' [data-testid="stSidebarCollapseButton"] button')?.click(), 300);
};
if (!document.querySelector('.hf-skip')) {
  const skip = document.createElement('button');
  skip.className = 'hf-skip';
  skip.textContent = 'Skip to the numbers';
  skip.onclick = () => (document.querySelector('[data-testid="stMain"] :is(.hf-brief, .hf) a')
    ?? document.querySelector('[data-testid="stMain"]')).focus();
  document.body.prepend(skip);
  // Streamlit would open the menu over the next page, too.
  window.addEventListener('pagehide', () => {
    if (innerWidth < 768) Object.keys(localStorage)
      .filter(key => key.startsWith('stSidebarCollapsed')).forEach(key => localStorage.removeItem(key));
  });
}
}
