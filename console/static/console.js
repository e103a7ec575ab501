// Keys for the review page, and page changes without a load. Every form and link
// works without this file.
'use strict';

(() => {
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  root.classList.add('js');

  // Actions run one after the other: a key that is pressed while the last decision
  // is on its way acts on the page that comes back.
  let work = Promise.resolve();
  const then = (action) => { work = work.then(action).catch((error) => say(error.message)); };

  const cards = () => $$('.card');
  const current = () => document.activeElement?.closest('.card') ?? null;
  const picked = () => $$('.pick input:checked');

  function say(text) {
    const box = document.createElement('div');
    const line = document.createElement('p');
    box.className = 'notice';
    line.className = 'problem';
    line.textContent = text;
    box.append(line);
    $('#notice').replaceChildren(box);
  }

  function look(card) {
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: card.offsetHeight > innerHeight * 0.6 ? 'start' : 'center' });
  }

  function move(step) {
    const all = cards();
    const at = all.indexOf(current());
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step];
    if (next) look(next);
  }

  // use shows a page in place of the present one.
  function use(html, address) {
    const page = new DOMParser().parseFromString(html, 'text/html');
    $('#main').replaceWith(document.adoptNode($('#main', page)));
    $('#notice').replaceChildren(...$('#notice', page).childNodes);
    document.title = page.title;
    const url = new URL(address);
    for (const name of ['did', 'done', 'not', 'at']) url.searchParams.delete(name);
    history.replaceState(null, '', url);
    settle();
    if (document.activeElement === document.body) $('#main').focus({ preventScroll: true });
  }

  // settle looks at the experience that the page names, and ends the offer to undo
  // when its time is over.
  let offer;
  function settle() {
    const review = $('.review');
    const at = review?.dataset.at;
    const card = at && document.getElementById('e-' + at);
    if (card) look(card);
    clearTimeout(offer);
    if ($('.undo')) offer = setTimeout(() => $('.undo')?.remove(), 60_000);
    count();
  }

  function count() {
    const label = $('.count');
    if (label) label.textContent = picked().length + ' selected';
  }

  async function send(form, button) {
    const body = new URLSearchParams(new FormData(form, button));
    const response = await fetch(form.getAttribute('action'), { method: 'POST', body });
    const text = await response.text();
    if (response.status === 401) return location.reload();
    if (!response.headers.get('Content-Type')?.startsWith('text/html')) throw new Error(text);
    use(text, response.url);
  }

  function press(name) {
    const all = picked().length > 0 && $(`.bulk [value="${name}"]`);
    const button = all || $(`[name="${name}"]`, current() ?? document.createElement('p'));
    return button ? send(button.form, button) : undefined;
  }

  function undo() {
    const button = $('[name="undo"]', current() ?? document.createElement('p')) ?? $('.undo button');
    return button ? send(button.form, button) : undefined;
  }

  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (!form.matches('.review, .undo')) return;
    event.preventDefault();
    const button = event.submitter;
    then(() => (form.isConnected ? send(form, button) : undefined));
  });

  document.addEventListener('change', count);

  document.addEventListener('click', (event) => {
    if (event.target.closest('[data-help]')) $('#help').showModal();
  });

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: () => press('approve'),
    r: () => press('reject'),
    u: undo,
    x: () => { const box = current() && $('.pick input', current()); if (box) { box.checked = !box.checked; count(); } },
    '/': () => { const box = $('.search input[type="search"]'); box?.focus(); box?.select(); },
    '?': () => $('#help')?.showModal(),
    Escape: () => { for (const box of picked()) box.checked = false; count(); },
  };

  document.addEventListener('keydown', (event) => {
    const field = event.target.closest?.('input:not([type="checkbox"]), textarea, select');
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || $('dialog[open]')) return;
    if (field) {
      if (event.key === 'Escape') { field.blur(); move(1); }
      return;
    }
    const action = keys[event.key];
    if (!action || !$('.review, .search')) return;
    event.preventDefault();
    if (!event.repeat || event.key === 'j' || event.key === 'k') then(action);
  });

  // The overview follows what happens, while somebody looks at it.
  const fresh = $('[data-refresh]');
  if (fresh) {
    setInterval(async () => {
      if (document.hidden || $('#main').contains(document.activeElement) && document.activeElement !== $('#main')) return;
      try {
        const response = await fetch(location.pathname);
        if (!response.ok) return;
        const page = new DOMParser().parseFromString(await response.text(), 'text/html');
        const now = $('#main', page);
        if (now.innerHTML !== $('#main').innerHTML) $('#main').replaceWith(document.adoptNode(now));
      } catch { /* the next one may come through */ }
    }, Number(fresh.dataset.refresh));
  }

  settle();
})();
