{
const sentence = document.currentScript.previousElementSibling;
const field = sentence.closest('[data-testid="stElementContainer"]').previousElementSibling
  .querySelector('input');
sentence.id = `missing-${performance.now()}`;
field.setAttribute('aria-invalid', 'true');
field.setAttribute('aria-describedby', sentence.id);
// The field outlives its sentence.
new MutationObserver((_, observer) => {
  if (sentence.isConnected) return;
  observer.disconnect();
  if (field.getAttribute('aria-describedby') !== sentence.id) return;
  field.removeAttribute('aria-invalid');
  field.removeAttribute('aria-describedby');
}).observe(document.body, {childList: true, subtree: true});
if (document.querySelector('.hf-missing') === sentence) {
  field.focus({preventScroll: true});
  field.scrollIntoView({block: 'center'});
}
}
